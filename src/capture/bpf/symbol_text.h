// What the kernel says of one of its addresses.
#pragma once

struct symbol_text {
	char text[640]; // its names have up to 512 characters
};
