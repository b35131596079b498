// What the kernel prints for one of its addresses.
#pragma once

struct symbol_text {
	char text[640]; // kernel names have up to 512 characters
};
