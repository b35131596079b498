# Runs a test command for a limited time, with a trace if asked for: 'tracelet run-test' with the same parameters.
# Nothing of this has been run on a real Windows yet.
param(
    [Parameter(Mandatory = $true, Position = 0)][string]$OutputFolder,
    [Parameter(Mandatory = $true, Position = 1)][int]$Timeout,
    [Parameter(Mandatory = $true, Position = 2)][string]$TestCommand,
    [switch]$EnableTracing,
    [string]$TraceOutputDirectory = '',
    [ValidateSet('file', 'memory')][string]$TracingType = 'file',
    [Parameter(ValueFromRemainingArguments = $true)][string[]]$TestArguments = @()
)
$words = @('run-test', '--type', $TracingType)
if ($EnableTracing) { $words += '--trace' }
if ($TraceOutputDirectory) { $words += @('--trace-dir', $TraceOutputDirectory) }
$words += @($OutputFolder, $Timeout, $TestCommand) + $TestArguments
& tracelet.exe @words
exit $LASTEXITCODE
