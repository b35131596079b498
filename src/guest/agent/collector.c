// A collector for the ordinary users of the guest (docs/collector.md): a child of the agent's, this same
// program, which ends with the agent. The agent's own requests need none: they run as root.
#include "guest/agent/agent.h"
#include "base/log.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const struct agent_options *options, pid_t agent) {
	char *words[] = {(char *)(uintptr_t) "tracelet",
			 (char *)(uintptr_t) "collector",
			 (char *)(uintptr_t) "--group",
			 (char *)(uintptr_t)options->collector_group,
			 (char *)(uintptr_t)(options->collector_socket ? "--listen" : NULL),
			 (char *)(uintptr_t)options->collector_socket,
			 NULL};
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid(); // what ends a terminal's processes is not for it
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == agent)
		execv("/proc/self/exe", words);
	_exit(127);
}

void agent_collector_begin(struct agent *agent, const struct agent_options *options) {
	if (!options->collector_group)
		return;
	pid_t self = getpid();
	agent->collector = fork();
	if (agent->collector == 0)
		become(options, self);
	if (agent->collector < 0)
		log_warning("no collector for this machine's users: cannot start it");
}

bool agent_collector_ended(struct agent *agent, pid_t pid, int status) {
	if (pid != agent->collector || pid <= 0)
		return false;
	agent->collector = 0;
	if (!agent->over)
		log_warning("the collector for this machine's users ended (%s %d)",
			    WIFSIGNALED(status) ? "signal" : "exit status",
			    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return true;
}

void agent_collector_end(struct agent *agent) {
	if (agent->collector <= 0)
		return;
	kill(agent->collector, SIGTERM);
	waitpid(agent->collector, NULL, 0);
	agent->collector = 0;
}
