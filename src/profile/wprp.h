// A .wprp file: collectors, providers, and the profiles that combine them.
#pragma once

#include "base/map.h"
#include "profile/plan.h"
#include "profile/xml.h"

struct wprp {
	struct xml xml;
	struct map ids;           // hash of an Id → its element
	ARRAY(uint32_t) profiles; // in file order
	uint32_t top;             // <Profiles>
	size_t steps;             // spent on resolving plans so far: limits what a hostile file can cost
};

// False if it is not a profile file; a finding says why and where. Nothing needs to be freed then.
bool wprp_open(struct wprp *file, const void *bytes, size_t size, struct findings *findings);
void wprp_free(struct wprp *file);

// The plan of profile `selection`, NAME[.DETAIL[.MODE]]; NULL for the first name in the file. Prefers
// Verbose to Light, and the requested mode to the other. False if there is none, or it cannot be
// resolved; a finding says why. A plan may come with findings, too: words that WPR does not know.
bool wprp_select(struct wprp *file, const char *selection, enum plan_mode wanted, struct plan *plan,
		 struct findings *findings);

// Everything that WPR would reject.
void wprp_check(struct wprp *file, struct findings *findings);

// ---- shared by the files wprp*.c ----

struct wprp_id {
	const char *name;
	enum plan_detail detail;
	enum plan_mode mode;
};

// The attributes of a <Profile>; false if one is missing or invalid.
bool wprp_profile_id(const struct wprp *file, uint32_t profile, struct wprp_id *id);

// The element of that kind with that Id; 0 if none.
uint32_t wprp_find(const struct wprp *file, const char *element, const char *id);

// Resolves a profile. False if there is no plan; a finding says why.
bool wprp_plan(struct wprp *file, uint32_t profile, struct plan *plan, struct findings *findings);

// The elements allowed under <Profiles>, in their required order; ends with NULL.
extern const char *const wprp_order[];

#define AT(file, node) xml_node(&(file)->xml, node)->line, xml_node(&(file)->xml, node)->column
