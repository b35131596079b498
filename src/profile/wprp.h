// A .wprp file: collectors, providers, and the profiles that put them together.
#pragma once

#include "base/map.h"
#include "profile/plan.h"
#include "profile/xml.h"

struct wprp {
	struct xml xml;
	struct map ids;           // hash of an Id → the element that has it
	ARRAY(uint32_t) profiles; // in the file's order
	uint32_t top;             // <Profiles>
	size_t steps;             // taken so far to work out plans: hostile files could make it many
};

// False: it is no profile at all, and a finding says why and where. Nothing is to be freed then.
bool wprp_open(struct wprp *file, const void *bytes, size_t size, struct findings *findings);
void wprp_free(struct wprp *file);

// The profile `selection`, NAME[.DETAIL[.MODE]]; NULL: the first name of the file. Verbose unless
// there is only Light, and the wanted mode unless there is only the other. False: there is none, or
// it does not come to a plan; a finding says why. Findings may also come with a plan: words that
// WPR does not know.
bool wprp_select(struct wprp *file, const char *selection, enum plan_mode wanted, struct plan *plan,
		 struct findings *findings);

// Everything that WPR would not take.
void wprp_check(struct wprp *file, struct findings *findings);

// ---- between the parts of this room ----

struct wprp_id {
	const char *name;
	enum plan_detail detail;
	enum plan_mode mode;
};

// What a <Profile> says of itself; false: a value is missing or not one of WPR's.
bool wprp_profile_id(const struct wprp *file, uint32_t profile, struct wprp_id *id);

// The element of that kind with that Id, 0: there is none.
uint32_t wprp_find(const struct wprp *file, const char *element, const char *id);

// What a profile comes to. False: a finding says why not, and there is no plan.
bool wprp_plan(struct wprp *file, uint32_t profile, struct plan *plan, struct findings *findings);

// The elements that may stand under <Profiles>, in the order in which they must; ends with NULL.
extern const char *const wprp_order[];

#define AT(file, node) xml_node(&(file)->xml, node)->line, xml_node(&(file)->xml, node)->column
