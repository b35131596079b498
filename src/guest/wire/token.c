#include "guest/wire/token.h"
#include "base/file.h"
#include "base/log.h"
#include "settings/ini_file.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *read_file(struct token *token, int fd) {
	struct stat status;
	if (fstat(fd, &status))
		return strerror(errno);
	if (status.st_uid != 0 && status.st_uid != geteuid() && status.st_uid != ini_file_caller())
		return "it belongs to another user, who knows it";
	if (status.st_mode & 077)
		return "other users can read it (chmod 600)";
	ssize_t got = read(fd, token->bytes, sizeof(token->bytes));
	if (got < 0)
		return strerror(errno);
	for (token->size = (size_t)got; token->size && token->bytes[token->size - 1] <= ' ';)
		token->size--;
	return token->size < TOKEN_LEAST ? "a token has at least 16 bytes" : NULL;
}

bool token_read(struct token *token, const char *path) {
	*token = (struct token){0};
	int fd = file_open_regular(path, O_RDONLY);
	const char *why = fd < 0 ? strerror(-fd) : read_file(token, fd);
	if (fd >= 0)
		close(fd);
	if (why) {
		token->size = 0;
		log_error("--token-file %s: %s", path, why);
	}
	return !why;
}

bool token_challenge(uint8_t challenge[TOKEN_CHALLENGE]) {
	return getrandom(challenge, TOKEN_CHALLENGE, 0) == TOKEN_CHALLENGE;
}

void token_prove(const struct token *token, enum token_role role, const struct token_talk *talk,
		 uint64_t session, uint8_t proof[TOKEN_PROOF]) {
	static const char *const roles[] = {"tracelet host 1", "tracelet agent 1"};
	struct hmac_sha256_ctx context;
	uint8_t number[8];
	for (size_t i = 0; i < sizeof(number); i++)
		number[i] = (uint8_t)(session >> 8 * i);
	hmac_sha256_set_key(&context, token->size, token->bytes);
	hmac_sha256_update(&context, strlen(roles[role]) + 1, (const uint8_t *)roles[role]);
	hmac_sha256_update(&context, sizeof(talk->agent), talk->agent);
	hmac_sha256_update(&context, sizeof(talk->host), talk->host);
	hmac_sha256_update(&context, sizeof(number), number);
	hmac_sha256_digest(&context, TOKEN_PROOF, proof);
}

bool token_check(const struct token *token, enum token_role role, const struct token_talk *talk,
		 uint64_t session, const uint8_t proof[TOKEN_PROOF]) {
	uint8_t right[TOKEN_PROOF];
	token_prove(token, role, talk, session, right);
	return token->size && memeql_sec(right, proof, TOKEN_PROOF);
}
