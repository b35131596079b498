// A secret that host and agent share, and the proof that a peer knows it. Each side sends a random
// challenge and answers the other's with an HMAC-SHA256 over both, its own role and the session. The
// secret itself is never sent; a proof is good for one connection and one direction. What follows on the
// connection is neither signed nor encrypted.
#pragma once

#include "base/memory.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 4096, TOKEN_CHALLENGE = 32, TOKEN_PROOF = 32 };

struct token {
	uint8_t bytes[TOKEN_MOST];
	size_t size; // 0 if there is none
};

enum token_role { TOKEN_OF_HOST, TOKEN_OF_AGENT };

// A connection's challenges: the agent's and the host's.
struct token_talk {
	uint8_t agent[TOKEN_CHALLENGE], host[TOKEN_CHALLENGE];
};

// Reads a file that only its owner can read: we, root, or the user who called sudo. The white space at its
// end does not count. False after one line.
bool token_read(struct token *token, const char *path);

bool token_challenge(uint8_t challenge[TOKEN_CHALLENGE]); // false if there are no random numbers
void token_prove(const struct token *token, enum token_role role, const struct token_talk *talk,
		 uint64_t session, uint8_t proof[TOKEN_PROOF]);
bool token_check(const struct token *token, enum token_role role, const struct token_talk *talk,
		 uint64_t session, const uint8_t proof[TOKEN_PROOF]);
