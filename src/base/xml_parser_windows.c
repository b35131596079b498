// XmlLite pulls: it reads from a stream and is asked for one node after the other.
// It is loaded when the first file is read; most runs of the program read none.
// It does not report byte offsets. So for each tag that it finds, the next one is looked up in the text
// (xml_tag.h): the same tag, as both go from front to end.
#define COBJMACROS
#define INITGUID
#include "base/array.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/xml_parser.h"
#include "base/xml_tag.h"

#include <string.h>
#include <windows.h>

#include <xmllite.h>

struct xml_parser {
	ISequentialStream stream; // must be the first: XmlLite has a pointer to it
	const char *at, *end;
	IXmlReader *reader;
	void *context;
	void (*begin)(void *context, const char *name, const char **attributes);
	void (*finish)(void *context, const char *name);
	void (*text)(void *context, const char *text, int size);
	void (*doctype)(void *context, const char *name, const char *system, const char *public_id,
			int internal);
	ARRAY(char *) attributes; // name, value, …, NULL
	unsigned long line, column;
	unsigned long last_line, last_column; // of the element before
	const char *begin_of_all;
	struct xml_tag tag; // where we are
	bool lost;          // that is not known
	size_t elements, open;
	HRESULT error;
	bool stopped;
};

// ---- the stream ----

static HRESULT WINAPI stream_query(ISequentialStream *stream, REFIID wanted, void **object) {
	bool known = IsEqualIID(wanted, &IID_IUnknown) || IsEqualIID(wanted, &IID_ISequentialStream);
	*object = known ? stream : NULL;
	return known ? S_OK : E_NOINTERFACE;
}

// It lives as long as the parser.
static ULONG WINAPI stream_count(ISequentialStream *stream) {
	return 1;
}

static HRESULT WINAPI stream_read(ISequentialStream *stream, void *bytes, ULONG size, ULONG *taken) {
	struct xml_parser *parser = CONTAINER_OF(stream, struct xml_parser, stream);
	ULONG piece = (ULONG)MIN((size_t)size, (size_t)(parser->end - parser->at));
	memcpy(bytes, parser->at, piece);
	parser->at += piece;
	if (taken)
		*taken = piece;
	return piece < size ? S_FALSE : S_OK;
}

static HRESULT WINAPI stream_write(ISequentialStream *stream, const void *bytes, ULONG size, ULONG *written) {
	return E_NOTIMPL;
}

static ISequentialStreamVtbl stream_functions = {stream_query, stream_count, stream_count, stream_read,
						 stream_write};

// ---- the parser ----

XML_Parser XML_ParserCreate(const char *encoding) {
	XML_Parser parser = memory_alloc(sizeof(*parser));
	parser->stream.lpVtbl = &stream_functions;
	return parser;
}

static void forget_attributes(XML_Parser parser) {
	for (size_t i = 0; i < parser->attributes.count; i++)
		free(parser->attributes.items[i]);
	parser->attributes.count = 0;
}

void XML_ParserFree(XML_Parser parser) {
	forget_attributes(parser);
	array_free(&parser->attributes);
	if (parser->reader)
		IXmlReader_Release(parser->reader);
	free(parser);
}

void XML_SetUserData(XML_Parser parser, void *context) {
	parser->context = context;
}

void XML_SetElementHandler(XML_Parser parser,
			   void (*begin)(void *context, const char *name, const char **attributes),
			   void (*end)(void *context, const char *name)) {
	parser->begin = begin;
	parser->finish = end;
}

void XML_SetCharacterDataHandler(XML_Parser parser, void (*text)(void *context, const char *text, int size)) {
	parser->text = text;
}

void XML_SetStartDoctypeDeclHandler(XML_Parser parser,
				    void (*doctype)(void *context, const char *name, const char *system,
						    const char *public_id, int internal)) {
	parser->doctype = doctype;
}

enum XML_Status XML_StopParser(XML_Parser parser, int resumable) {
	parser->stopped = true;
	return XML_STATUS_OK;
}

unsigned long XML_GetCurrentLineNumber(XML_Parser parser) {
	return parser->line;
}

unsigned long XML_GetCurrentColumnNumber(XML_Parser parser) {
	return parser->column;
}

long long XML_GetCurrentByteIndex(XML_Parser parser) {
	return parser->lost ? -1 : (long long)parser->tag.begin;
}

int XML_GetCurrentByteCount(XML_Parser parser) {
	return parser->lost ? 0 : (int)(parser->tag.end - parser->tag.begin);
}

long XML_GetErrorCode(XML_Parser parser) {
	return parser->error;
}

// Common mistakes, with expat's messages.
const char *XML_ErrorString(long code) {
	static const struct {
		long code;
		const char *words;
	} known[] = {
		{WC_E_ELEMENTMATCH, "mismatched tag"},
		{WC_E_ROOTELEMENT, "no element found"},
		{MX_E_INPUTEND, "no element found"},
		{WC_E_MOREDATA, "no element found"},
		{WC_E_UNIQUEATTRIBUTE, "duplicate attribute"},
		{WC_E_DTDPROHIBITED, "DOCTYPE is not allowed"},
		{WC_E_UNDECLAREDENTITY, "undefined entity"},
		{MX_E_ENCODING, "unknown encoding"},
		{NC_E_UNDECLAREDPREFIX, "unbound prefix"},
		{HRESULT_FROM_WIN32(ERROR_MOD_NOT_FOUND), "cannot load xmllite.dll"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].code == code)
			return known[i].words;
	return "not well-formed";
}

// ---- nodes ----

static void note_place(XML_Parser parser) {
	UINT line = 0, column = 0;
	IXmlReader_GetLineNumber(parser->reader, &line);
	IXmlReader_GetLinePosition(parser->reader, &column);
	parser->line = line ? line : 1;
	parser->column = column ? column - 1 : 0;
}

static char *name_of(IXmlReader *reader) {
	const wchar_t *name = NULL;
	IXmlReader_GetQualifiedName(reader, &name, NULL);
	return system_utf8(name ? name : L"");
}

static void take_attributes(XML_Parser parser) {
	IXmlReader *reader = parser->reader;
	forget_attributes(parser);
	for (HRESULT more = IXmlReader_MoveToFirstAttribute(reader); more == S_OK;
	     more = IXmlReader_MoveToNextAttribute(reader)) {
		const wchar_t *value = NULL;
		IXmlReader_GetValue(reader, &value, NULL);
		array_push(&parser->attributes, name_of(reader));
		array_push(&parser->attributes, system_utf8(value ? value : L""));
	}
	array_push(&parser->attributes, NULL);
	IXmlReader_MoveToElement(reader);
}

static void find_tag(XML_Parser parser, const char *name, enum xml_tag_kind kind) {
	struct xml_tag *tag = &parser->tag;
	size_t length = strlen(name), size = (size_t)(parser->end - parser->begin_of_all);
	parser->lost = parser->lost || !xml_tag_next(parser->begin_of_all, size, tag->end, tag) ||
		       tag->kind != kind || tag->name_size != length || memcmp(tag->name, name, length) != 0;
}

static void take_element(XML_Parser parser) {
	BOOL empty = IXmlReader_IsEmptyElement(parser->reader);
	CLEANUP_FREE char *name = name_of(parser->reader);
	note_place(parser);
	// Where its name begins, after the bracket.
	parser->column -= parser->column > 0;
	// The XmlLite of wine gives an element again and again if the file ends inside it.
	if (parser->elements++ && parser->line == parser->last_line &&
	    parser->column == parser->last_column) {
		parser->error = (HRESULT)MX_E_INPUTEND;
		return;
	}
	parser->last_line = parser->line;
	parser->last_column = parser->column;
	parser->open += !empty;
	find_tag(parser, name, empty ? XML_TAG_EMPTY : XML_TAG_START);
	take_attributes(parser);
	parser->begin(parser->context, name, (const char **)parser->attributes.items);
	if (empty && !parser->stopped)
		parser->finish(parser->context, name);
}

static void take_node(XML_Parser parser, XmlNodeType type) {
	if (type == XmlNodeType_Element) {
		take_element(parser);
	} else if (type == XmlNodeType_EndElement) {
		CLEANUP_FREE char *name = name_of(parser->reader);
		note_place(parser);
		parser->open--;
		find_tag(parser, name, XML_TAG_END);
		parser->finish(parser->context, name);
	} else if (parser->text && (type == XmlNodeType_Text || type == XmlNodeType_CDATA ||
				    type == XmlNodeType_Whitespace)) {
		const wchar_t *value = NULL;
		IXmlReader_GetValue(parser->reader, &value, NULL);
		CLEANUP_FREE char *text = system_utf8(value ? value : L"");
		parser->text(parser->context, text, (int)strlen(text));
	}
}

static HRESULT open_reader(XML_Parser parser) {
	typedef HRESULT WINAPI creator(REFIID wanted, void **object, IMalloc *memory);
	HMODULE library = LoadLibraryExW(L"xmllite.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
	creator *create = library ? (creator *)(void *)GetProcAddress(library, "CreateXmlReader") : NULL;
	if (!create)
		return HRESULT_FROM_WIN32(ERROR_MOD_NOT_FOUND);
	HRESULT error = create(&IID_IXmlReader, (void **)&parser->reader, NULL);
	if (SUCCEEDED(error))
		error = IXmlReader_SetProperty(parser->reader, XmlReaderProperty_DtdProcessing,
					       DtdProcessing_Prohibit);
	return SUCCEEDED(error) ? IXmlReader_SetInput(parser->reader, (IUnknown *)&parser->stream) : error;
}

enum XML_Status XML_Parse(XML_Parser parser, const char *bytes, int size, int last) {
	XmlNodeType type;
	parser->at = parser->begin_of_all = bytes;
	parser->end = bytes + size;
	parser->line = 1;
	HRESULT error = open_reader(parser);
	while (SUCCEEDED(error) && !parser->stopped && !parser->error &&
	       (error = IXmlReader_Read(parser->reader, &type)) == S_OK)
		take_node(parser, type);
	if (SUCCEEDED(error) && parser->error)
		error = parser->error;
	else if (SUCCEEDED(error) && !parser->stopped && (!parser->elements || parser->open))
		error = (HRESULT)WC_E_ROOTELEMENT;
	if (SUCCEEDED(error))
		return parser->stopped ? XML_STATUS_ERROR : XML_STATUS_OK;
	if (parser->reader)
		note_place(parser);
	parser->error = error;
	if (error == (HRESULT)WC_E_DTDPROHIBITED && parser->doctype)
		parser->doctype(parser->context, "", NULL, NULL, 0);
	return XML_STATUS_ERROR;
}
