# The functions that test scripts on Windows use for operations, each one call of tracelet.exe.
# Import-Module ./Tracelet.psm1. Nothing of this has been run on a real Windows yet.

$script:OutputDirectory = 'tracelet-out'
$script:Program = 'tracelet.exe'

# Where traces go, and which program records.
function Initialize-TracingUtils {
    param([string]$OutputDirectory = 'tracelet-out', [string]$Program = 'tracelet.exe')
    $script:OutputDirectory = $OutputDirectory
    $script:Program = $Program
}

# Begins a trace; $true if it records.
function Start-OperationTrace {
    param([Parameter(Mandatory = $true)][string]$OperationName,
        [string]$OutputDirectory = $script:OutputDirectory,
        [ValidateSet('file', 'memory')][string]$TraceType = 'file')
    & $script:Program start $OperationName --output-dir $OutputDirectory --type $TraceType
    return $LASTEXITCODE -eq 0
}

# Ends it and prints where the trace is; $true if it was saved.
function Stop-OperationTrace {
    param([Parameter(Mandatory = $true)][string]$OperationName)
    & $script:Program stop $OperationName | Write-Host
    return $LASTEXITCODE -eq 0
}

function Stop-AllTraces {
    & $script:Program stop --all | Write-Host
    return $LASTEXITCODE -eq 0
}

function Test-TracingActive {
    param([string]$OperationName = '')
    if ($OperationName) { & $script:Program current $OperationName | Out-Null }
    else { & $script:Program current | Out-Null }
    return $LASTEXITCODE -eq 0
}

function Get-CurrentTraceFile {
    param([string]$OperationName = '')
    if ($OperationName) { & $script:Program current $OperationName }
    else { & $script:Program current }
}

Export-ModuleMember -Function Initialize-TracingUtils, Start-OperationTrace, Stop-OperationTrace, Stop-AllTraces, `
    Test-TracingActive, Get-CurrentTraceFile
