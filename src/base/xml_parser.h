// XML, element by element: expat. Debian has no expat for mingw; on Windows
// xml_parser_windows.c implements the part of its interface that we use with XmlLite,
// which is part of Windows.
#pragma once

#ifndef _WIN32
#include <expat.h>
#else

#define XMLCALL

typedef struct xml_parser *XML_Parser;
enum XML_Status { XML_STATUS_ERROR = 0, XML_STATUS_OK = 1 };
enum { XML_FALSE, XML_TRUE };

XML_Parser XML_ParserCreate(const char *encoding);
void XML_ParserFree(XML_Parser parser);
void XML_SetUserData(XML_Parser parser, void *context);
void XML_SetElementHandler(XML_Parser parser,
			   void (*begin)(void *context, const char *name, const char **attributes),
			   void (*end)(void *context, const char *name));
void XML_SetCharacterDataHandler(XML_Parser parser, void (*text)(void *context, const char *text, int size));
// A DOCTYPE is rejected with or without a handler.
void XML_SetStartDoctypeDeclHandler(XML_Parser parser,
				    void (*doctype)(void *context, const char *name, const char *system,
						    const char *public_id, int internal));
enum XML_Status XML_Parse(XML_Parser parser, const char *bytes, int size, int last); // all at once
enum XML_Status XML_StopParser(XML_Parser parser, int resumable);
unsigned long XML_GetCurrentLineNumber(XML_Parser parser);   // from 1
unsigned long XML_GetCurrentColumnNumber(XML_Parser parser); // from 0
// The offset of a tag; -1 in an encoding that is not a superset of ASCII.
long long XML_GetCurrentByteIndex(XML_Parser parser);
int XML_GetCurrentByteCount(XML_Parser parser);
long XML_GetErrorCode(XML_Parser parser);
const char *XML_ErrorString(long code);

#endif
