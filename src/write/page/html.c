#include "write/page/html.h"

#include "base/text.h"
#include "write/page/columns.h"

void page_text(struct buffer *out, const char *text) {
	text_xml(out, text, strlen(text));
}

void page_cell(struct buffer *out, const char *tag, const char *text) {
	size_t name = strcspn(tag, " ");
	buffer_printf(out, "<%s>", tag);
	page_text(out, text);
	buffer_printf(out, "</%.*s>", (int)name, tag);
}

void page_begin(struct buffer *out, const char *title) {
	buffer_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"");
	buffer_text(out, page_policy);
	buffer_text(out, "\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
			 "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	page_text(out, title);
	buffer_text(out, "</title>\n<style>");
	buffer_text(out, page_style);
	buffer_text(
		out,
		"</style>\n</head>\n<body>\n<header><svg width=\"20\" height=\"20\" viewBox=\"0 0 20 20\" "
		"aria-hidden=\"true\"><path fill=\"#3fae5a\" d=\"M1 3h8v4H1z\"/><path fill=\"#a97be0\" "
		"d=\"M6 8h9v4H6z\"/><path fill=\"#f0b429\" d=\"M12 "
		"13h7v4h-7z\"/></svg><p><b>Tracelet</b> " TRACELET_VERSION "</p></header>\n<main>\n");
}

void page_end(struct buffer *out, const struct buffer *bulk) {
	buffer_text(out, "</main>\n<template id=\"code\">");
	buffer_text(out, page_code);
	buffer_text(out, "</template>\n<script>");
	buffer_text(out, page_loader);
	buffer_text(out, "</script>\n");
	if (bulk)
		buffer_append(out, bulk->data, bulk->size);
	buffer_text(out, "</body>\n</html>\n");
}

void page_file(struct buffer *out, const char *name, const uint8_t *bytes, size_t size) {
	buffer_text(out, "<template class=\"file\" data-name=\"");
	page_text(out, name);
	buffer_text(out, "\">");
	columns_pack(out, bytes, size);
	buffer_text(out, "</template>");
}
