// A step for Jenkins: vars/tracelet.groovy of a shared library. tracelet('./unit_tests') runs each case with a trace.
def call(String command, String script = 'share/ci/tracelet-ci') {
    try {
        withEnv(["TRACELET_CI=${script}", "TEST_COMMAND=${command}"]) {
            sh '"$TRACELET_CI" install'
            sh '"$TRACELET_CI" each "$TEST_COMMAND"'
        }
    } finally {
        junit allowEmptyResults: true, testResults: 'results.xml'
        archiveArtifacts artifacts: 'tracelet-out/**', allowEmptyArchive: true
    }
}
