// The names of C++ functions in public symbols, as Microsoft's compilers decorate them:
// "?run@Pool@ns@@QEAAXXZ" is ns::Pool::run. Only the name is taken apart, not the types that follow. A name
// with a template in it is left as it is: its parameters are types. (No library of Debian's does this; LLVM's
// demangler is C++.)
#include "symbol/windows/pdb_parts.h"

#include "base/buffer.h"

enum { MOST_PARTS = 32, MOST_KEPT = 10 };

struct part {
	const char *text;
	size_t size;
};

struct undecorating {
	const char *at;
	struct part parts[MOST_PARTS]; // innermost first
	size_t part_count;
	struct part kept[MOST_KEPT]; // that digits refer to
	size_t kept_count;
};

static const struct {
	const char *code, *name;
} operators[] = {
	{"2", "operator new"},
	{"3", "operator delete"},
	{"4", "operator="},
	{"5", "operator>>"},
	{"6", "operator<<"},
	{"7", "operator!"},
	{"8", "operator=="},
	{"9", "operator!="},
	{"A", "operator[]"},
	{"C", "operator->"},
	{"D", "operator*"},
	{"E", "operator++"},
	{"F", "operator--"},
	{"G", "operator-"},
	{"H", "operator+"},
	{"I", "operator&"},
	{"J", "operator->*"},
	{"K", "operator/"},
	{"L", "operator%"},
	{"M", "operator<"},
	{"N", "operator<="},
	{"O", "operator>"},
	{"P", "operator>="},
	{"Q", "operator,"},
	{"R", "operator()"},
	{"S", "operator~"},
	{"T", "operator^"},
	{"U", "operator|"},
	{"V", "operator&&"},
	{"W", "operator||"},
	{"X", "operator*="},
	{"Y", "operator+="},
	{"Z", "operator-="},
	{"_0", "operator/="},
	{"_1", "operator%="},
	{"_2", "operator>>="},
	{"_3", "operator<<="},
	{"_4", "operator&="},
	{"_5", "operator|="},
	{"_6", "operator^="},
	{"_U", "operator new[]"},
	{"_V", "operator delete[]"},
	{"_E", "`vector deleting destructor'"},
	{"_G", "`scalar deleting destructor'"},
};

static bool add_part(struct undecorating *self, struct part part) {
	if (self->part_count == MOST_PARTS)
		return false;
	self->parts[self->part_count++] = part;
	return true;
}

static bool take_part(struct undecorating *self) {
	static const char anonymous[] = "`anonymous namespace'";
	struct part part = {self->at, strcspn(self->at, "@")};
	if (*self->at >= '0' && *self->at <= '9') {
		size_t index = (size_t)(*self->at++ - '0');
		return index < self->kept_count && add_part(self, self->kept[index]);
	}
	if (!part.size || !self->at[part.size])
		return false;
	self->at += part.size + 1;
	if (*part.text == '?') {
		if (part.text[1] != 'A')
			return false; // a template, or inside another function
		part = (struct part){anonymous, strlen(anonymous)};
	}
	if (self->kept_count < MOST_KEPT)
		self->kept[self->kept_count++] = part;
	return add_part(self, part);
}

// After "??": what is special about the function. `tilde`: a destructor's name has one.
static bool take_special(struct undecorating *self, bool *like_class, bool *tilde) {
	*like_class = *self->at == '0' || *self->at == '1';
	*tilde = *self->at == '1';
	if (*like_class) {
		self->at++;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t size = strlen(operators[i].code);
		if (strncmp(self->at, operators[i].code, size) != 0)
			continue;
		self->at += size;
		return add_part(self, (struct part){operators[i].name, strlen(operators[i].name)});
	}
	return false;
}

char *undecorate(const char *name) {
	struct undecorating self = {.at = name + 1};
	bool like_class = false, tilde = false;
	struct buffer out = {0};
	if (*name != '?')
		return NULL;
	if (*self.at == '?') {
		self.at++;
		if (*self.at == '$' || *self.at == '?' || !take_special(&self, &like_class, &tilde))
			return NULL;
	}
	while (*self.at != '@')
		if (!*self.at || !take_part(&self))
			return NULL;
	if (!self.part_count)
		return NULL;
	for (size_t i = self.part_count; i-- > 0;) {
		buffer_append(&out, self.parts[i].text, self.parts[i].size);
		if (i || like_class)
			buffer_append(&out, "::", 2);
	}
	if (tilde)
		buffer_append(&out, "~", 1);
	if (like_class)
		buffer_append(&out, self.parts[0].text, self.parts[0].size);
	buffer_append(&out, "", 1);
	return (char *)out.data;
}
