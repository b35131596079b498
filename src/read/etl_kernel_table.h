// The layouts of the kernel's events: fields in order, `name:type`. Versions of
// a hook that are not listed have the layout of the version before them.
//
// Types: u8 … i64 integers, x32 hexadecimal, ptr and size as wide as a pointer,
// guid, ft a FILETIME, wstr and astr strings up to their NUL, sid a TOKEN_USER
// with its SID, ip4, ip6, be16 a port in network order, bN N bytes. Behind a
// type: [] as many as there are, [Field] as many as the field says, ? may be
// missing, {map} its numbers have names. Without fields the hook has a name and its payload stays as it is.
//
// Included by etl_kernel.c only.
#pragma once

// clang-format off
#define EVENT_TRACE_V2 \
	"GroupMask1:u32 GroupMask2:u32 GroupMask3:u32 GroupMask4:u32 GroupMask5:u32 GroupMask6:u32 " \
	"GroupMask7:u32 GroupMask8:u32 KernelEventVersion:u32"
#define DISK_IO_V2 \
	"DiskNumber:u32 IrpFlags:x32 TransferSize:u32 Reserved:u32 ByteOffset:u64 FileObject:ptr " \
	"Irp:ptr HighResResponseTime:u64"
#define DISK_IO_V3 \
	"DiskNumber:u32 IrpFlags:x32 TransferSize:u32 Reserved:u32 ByteOffset:u64 FileObject:ptr " \
	"Irp:ptr HighResResponseTime:u64 IssuingThreadId:u32"
#define DISK_IO_READ_INIT_V3 \
	"Irp:ptr IssuingThreadId:u32"
#define MEMORY_V2 \
	"VirtualAddress:ptr ProgramCounter:ptr"
#define MEMORY_VIRTUAL_ALLOC_V2 \
	"BaseAddress:ptr RegionSize:size ProcessId:u32 Flags:x32{memory}"
#define PROCESS_V1 \
	"PageDirectoryBase:ptr ProcessId:u32 ParentId:u32 SessionId:u32 ExitStatus:i32 UserSID:sid " \
	"ImageFileName:astr"
#define PROCESS_V2 \
	"UniqueProcessKey:ptr ProcessId:u32 ParentId:u32 SessionId:u32 ExitStatus:i32 UserSID:sid " \
	"ImageFileName:astr CommandLine:wstr"
#define PROCESS_V3 \
	"UniqueProcessKey:ptr ProcessId:u32 ParentId:u32 SessionId:u32 ExitStatus:i32 " \
	"DirectoryTableBase:ptr UserSID:sid ImageFileName:astr CommandLine:wstr"
#define PROCESS_V4 \
	"UniqueProcessKey:ptr ProcessId:u32 ParentId:u32 SessionId:u32 ExitStatus:i32 " \
	"DirectoryTableBase:ptr Flags:u32 UserSID:sid ImageFileName:astr CommandLine:wstr " \
	"PackageFullName:wstr ApplicationId:wstr"
#define IMAGE_V1 \
	"ImageBase:ptr ImageSize:ptr ProcessId:u32 FileName:wstr"
#define IMAGE_V2 \
	"ImageBase:ptr ImageSize:ptr ProcessId:u32 ImageChecksum:u32 TimeDateStamp:u32 Reserved0:u32 " \
	"DefaultBase:ptr Reserved1:u32 Reserved2:u32 Reserved3:u32 Reserved4:u32 FileName:wstr"
#define IMAGE_V3 \
	"ImageBase:ptr ImageSize:ptr ProcessId:u32 ImageChecksum:u32 TimeDateStamp:u32 " \
	"SignatureLevel:u8 SignatureType:u8 Reserved0:u16 DefaultBase:ptr Reserved1:u32 Reserved2:u32 " \
	"Reserved3:u32 Reserved4:u32 FileName:wstr"
#define PROCESS_PERF_CTR_V2 \
	"ProcessId:u32 PageFaultCount:u32 HandleCount:u32 Reserved:u32 PeakVirtualSize:ptr " \
	"PeakWorkingSetSize:ptr PeakPagefileUsage:ptr QuotaPeakPagedPoolUsage:ptr " \
	"QuotaPeakNonPagedPoolUsage:ptr VirtualSize:ptr WorkingSetSize:ptr PagefileUsage:ptr " \
	"QuotaPagedPoolUsage:ptr QuotaNonPagedPoolUsage:ptr PrivatePageCount:ptr"
#define FILE_IO_V2 \
	"FileObject:ptr FileName:wstr"
#define FILE_IO_CLEANUP_V2 \
	"IrpPtr:ptr TTID:ptr FileObject:ptr FileKey:ptr"
#define FILE_IO_V3 \
	"IrpPtr:ptr FileObject:ptr FileKey:ptr IssuingThreadId:u32"
#define FILE_IO_READ_V2 \
	"Offset:u64 IrpPtr:ptr TTID:ptr FileObject:ptr FileKey:ptr IoSize:u32 IoFlags:x32"
#define FILE_IO_READ_V3 \
	"Offset:u64 IrpPtr:ptr FileObject:ptr FileKey:ptr IssuingThreadId:u32 IoSize:u32 IoFlags:x32"
#define FILE_IO_SET_INFO_V2 \
	"IrpPtr:ptr TTID:ptr FileObject:ptr FileKey:ptr ExtraInfo:ptr InfoClass:u32"
#define FILE_IO_SET_INFO_V3 \
	"IrpPtr:ptr FileObject:ptr FileKey:ptr ExtraInfo:ptr IssuingThreadId:u32 InfoClass:u32"
#define FILE_IO_DIR_ENUM_V2 \
	"IrpPtr:ptr TTID:ptr FileObject:ptr FileKey:ptr Length:u32 InfoClass:u32 FileIndex:u32 " \
	"FileName:wstr"
#define FILE_IO_DIR_ENUM_V3 \
	"IrpPtr:ptr FileObject:ptr FileKey:ptr IssuingThreadId:u32 Length:u32 InfoClass:u32 " \
	"FileIndex:u32 FileName:wstr"
#define THREAD_V1 \
	"ProcessId:u32 TThreadId:u32 StackBase:ptr StackLimit:ptr UserStackBase:ptr " \
	"UserStackLimit:ptr StartAddr:ptr Win32StartAddr:ptr WaitMode:i8"
#define THREAD_V2 \
	"ProcessId:u32 TThreadId:u32 StackBase:ptr StackLimit:ptr UserStackBase:ptr " \
	"UserStackLimit:ptr StartAddr:ptr Win32StartAddr:ptr TebBase:ptr SubProcessTag:u32"
#define THREAD_V3 \
	"ProcessId:u32 TThreadId:u32 StackBase:ptr StackLimit:ptr UserStackBase:ptr " \
	"UserStackLimit:ptr Affinity:ptr Win32StartAddr:ptr TebBase:ptr SubProcessTag:u32 " \
	"BasePriority:u8 PagePriority:u8 IoPriority:u8 ThreadFlags:u8 ThreadName:wstr?"
#define TCP_IP_V2 \
	"PID:u32 size:u32 daddr:ip4 saddr:ip4 dport:be16 sport:be16 seqnum:u32 connid:ptr"
#define TCP_IP_CONNECT_V2 \
	"PID:u32 size:u32 daddr:ip4 saddr:ip4 dport:be16 sport:be16 mss:u16 sackopt:u16 tsopt:u16 " \
	"wsopt:u16 rcvwin:u32 rcvwinscale:i16 sndwinscale:i16 seqnum:u32 connid:ptr"
#define TCP_IP_RECV_IPV6_V2 \
	"PID:u32 size:u32 daddr:ip6 saddr:ip6 dport:be16 sport:be16 seqnum:u32 connid:ptr"
#define TCP_IP_CONNECT_IPV6_V2 \
	"PID:u32 size:u32 daddr:ip6 saddr:ip6 dport:be16 sport:be16 mss:u16 sackopt:u16 tsopt:u16 " \
	"wsopt:u16 rcvwin:u32 rcvwinscale:i16 sndwinscale:i16 seqnum:u32 connid:ptr"
#define REGISTRY_V2 \
	"InitialTime:i64 Status:x32 Index:u32 KeyHandle:ptr KeyName:wstr"
#define PERF_INFO_V2 \
	"InitialTime:u64 Routine:ptr"
#define PERF_INFO_COLLECTION_START_V2 \
	"Source:u32 NewInterval:u32 OldInterval:u32"
#define PERF_INFO_V3 \
	"Source:u32 NewInterval:u32 OldInterval:u32 SourceName:wstr"
#define STACK_WALK_V2 \
	"EventTimeStamp:u64 StackProcess:u32 StackThread:u32 StackKey:ptr"
#define IMAGE_ID_V2 \
	"ImageBase:ptr ProcessId:u32 GuidSig:guid Age:u32 PdbFileName:astr"

static const struct layout layouts[] = {
	{0x00, 0, 2, "EventTrace/Header",
	 "BufferSize:u32 Version:u32 ProviderVersion:u32 NumberOfProcessors:u32 EndTime:ft "
	 "TimerResolution:u32 MaxFileSize:u32 LogFileMode:x32 BuffersWritten:u32 StartBuffers:u32 "
	 "PointerSize:u32 EventsLost:u32 CPUSpeed:u32 LoggerNamePointer:ptr LogFileNamePointer:ptr "
	 "TimeZone:b176 BootTime:ft PerfFreq:u64 StartTime:ft ReservedFlags:u32 BuffersLost:u32 "
	 "SessionName:wstr LogFileName:wstr"},
	{0x00, 5, 2, "EventTrace/Extension", EVENT_TRACE_V2},
	{0x00, 8, 2, "EventTrace/RundownComplete", ""},
	{0x00, 32, 2, "EventTrace/EndExtension", EVENT_TRACE_V2},
	{0x01, 10, 2, "DiskIO/Read", DISK_IO_V2},
	{0x01, 10, 3, "DiskIO/Read", DISK_IO_V3},
	{0x01, 11, 2, "DiskIO/Write", DISK_IO_V2},
	{0x01, 11, 3, "DiskIO/Write", DISK_IO_V3},
	{0x01, 12, 2, "DiskIO/ReadInit", "Irp:ptr"},
	{0x01, 12, 3, "DiskIO/ReadInit", DISK_IO_READ_INIT_V3},
	{0x01, 13, 2, "DiskIO/WriteInit", "Irp:ptr"},
	{0x01, 13, 3, "DiskIO/WriteInit", DISK_IO_READ_INIT_V3},
	{0x01, 14, 2, "DiskIO/FlushBuffers", "DiskNumber:u32 IrpFlags:x32 HighResResponseTime:u64 Irp:ptr"},
	{0x01, 14, 3, "DiskIO/FlushBuffers",
	 "DiskNumber:u32 IrpFlags:x32 HighResResponseTime:u64 Irp:ptr IssuingThreadId:u32"},
	{0x01, 15, 2, "DiskIO/FlushInit", "Irp:ptr"},
	{0x01, 15, 3, "DiskIO/FlushInit", DISK_IO_READ_INIT_V3},
	{0x02, 10, 2, "Memory/TransitionFault", MEMORY_V2},
	{0x02, 11, 2, "Memory/DemandZeroFault", MEMORY_V2},
	{0x02, 12, 2, "Memory/CopyOnWrite", MEMORY_V2},
	{0x02, 13, 2, "Memory/GuardPageFault", MEMORY_V2},
	{0x02, 14, 2, "Memory/HardPageFault", MEMORY_V2},
	{0x02, 15, 2, "Memory/AccessViolation", MEMORY_V2},
	{0x02, 32, 2, "Memory/HardFault",
	 "InitialTime:u64 ReadOffset:u64 VirtualAddress:ptr FileObject:ptr TThreadId:u32 ByteCount:u32"},
	{0x02, 98, 2, "Memory/VirtualAlloc", MEMORY_VIRTUAL_ALLOC_V2},
	{0x02, 99, 2, "Memory/VirtualFree", MEMORY_VIRTUAL_ALLOC_V2},
	{0x03, 1, 1, "Process/Start", PROCESS_V1},
	{0x03, 1, 2, "Process/Start", PROCESS_V2},
	{0x03, 1, 3, "Process/Start", PROCESS_V3},
	{0x03, 1, 4, "Process/Start", PROCESS_V4},
	{0x03, 2, 1, "Process/Stop", PROCESS_V1},
	{0x03, 2, 2, "Process/Stop", PROCESS_V2},
	{0x03, 2, 3, "Process/Stop", PROCESS_V3},
	{0x03, 2, 4, "Process/Stop", PROCESS_V4},
	{0x03, 3, 1, "Process/DCStart", PROCESS_V1},
	{0x03, 3, 2, "Process/DCStart", PROCESS_V2},
	{0x03, 3, 3, "Process/DCStart", PROCESS_V3},
	{0x03, 3, 4, "Process/DCStart", PROCESS_V4},
	{0x03, 4, 1, "Process/DCStop", PROCESS_V1},
	{0x03, 4, 2, "Process/DCStop", PROCESS_V2},
	{0x03, 4, 3, "Process/DCStop", PROCESS_V3},
	{0x03, 4, 4, "Process/DCStop", PROCESS_V4},
	{0x03, 10, 1, "Image/Load", IMAGE_V1},
	{0x03, 10, 2, "Image/Load", IMAGE_V2},
	{0x03, 10, 3, "Image/Load", IMAGE_V3},
	{0x03, 11, 2, "Process/Terminate", "ProcessId:u32"},
	{0x03, 32, 2, "Process/PerfCtr", PROCESS_PERF_CTR_V2},
	{0x03, 33, 2, "Process/PerfCtrRundown", PROCESS_PERF_CTR_V2},
	{0x03, 39, 3, "Process/Defunct", PROCESS_V3},
	{0x03, 39, 4, "Process/Defunct", PROCESS_V4},
	{0x03, 39, 5, "Process/Defunct",
	 "UniqueProcessKey:ptr ProcessId:u32 ParentId:u32 SessionId:u32 ExitStatus:i32 "
	 "DirectoryTableBase:ptr Flags:u32 UserSID:sid ImageFileName:astr CommandLine:wstr "
	 "PackageFullName:wstr ApplicationId:wstr ExitTime:u64"},
	{0x04, 0, 2, "FileIO/Name", FILE_IO_V2},
	{0x04, 32, 2, "FileIO/FileCreate", FILE_IO_V2},
	{0x04, 35, 2, "FileIO/FileDelete", FILE_IO_V2},
	{0x04, 36, 2, "FileIO/FileRundown", FILE_IO_V2},
	{0x04, 64, 2, "FileIO/Create",
	 "IrpPtr:ptr TTID:ptr FileObject:ptr CreateOptions:x32 FileAttributes:x32 ShareAccess:x32 "
	 "OpenPath:wstr"},
	{0x04, 64, 3, "FileIO/Create",
	 "IrpPtr:ptr FileObject:ptr IssuingThreadId:u32 CreateOptions:x32 FileAttributes:x32 "
	 "ShareAccess:x32 OpenPath:wstr"},
	{0x04, 65, 2, "FileIO/Cleanup", FILE_IO_CLEANUP_V2},
	{0x04, 65, 3, "FileIO/Cleanup", FILE_IO_V3},
	{0x04, 66, 2, "FileIO/Close", FILE_IO_CLEANUP_V2},
	{0x04, 66, 3, "FileIO/Close", FILE_IO_V3},
	{0x04, 67, 2, "FileIO/Read", FILE_IO_READ_V2},
	{0x04, 67, 3, "FileIO/Read", FILE_IO_READ_V3},
	{0x04, 68, 2, "FileIO/Write", FILE_IO_READ_V2},
	{0x04, 68, 3, "FileIO/Write", FILE_IO_READ_V3},
	{0x04, 69, 2, "FileIO/SetInfo", FILE_IO_SET_INFO_V2},
	{0x04, 69, 3, "FileIO/SetInfo", FILE_IO_SET_INFO_V3},
	{0x04, 70, 2, "FileIO/Delete", FILE_IO_SET_INFO_V2},
	{0x04, 70, 3, "FileIO/Delete", FILE_IO_SET_INFO_V3},
	{0x04, 71, 2, "FileIO/Rename", FILE_IO_SET_INFO_V2},
	{0x04, 71, 3, "FileIO/Rename", FILE_IO_SET_INFO_V3},
	{0x04, 72, 2, "FileIO/DirEnum", FILE_IO_DIR_ENUM_V2},
	{0x04, 72, 3, "FileIO/DirEnum", FILE_IO_DIR_ENUM_V3},
	{0x04, 73, 2, "FileIO/Flush", FILE_IO_CLEANUP_V2},
	{0x04, 73, 3, "FileIO/Flush", FILE_IO_V3},
	{0x04, 74, 2, "FileIO/QueryInfo", FILE_IO_SET_INFO_V2},
	{0x04, 74, 3, "FileIO/QueryInfo", FILE_IO_SET_INFO_V3},
	{0x04, 75, 2, "FileIO/FSControl", FILE_IO_SET_INFO_V2},
	{0x04, 75, 3, "FileIO/FSControl", FILE_IO_SET_INFO_V3},
	{0x04, 76, 2, "FileIO/OperationEnd", "IrpPtr:ptr ExtraInfo:ptr NtStatus:x32"},
	{0x04, 77, 2, "FileIO/DirNotify", FILE_IO_DIR_ENUM_V2},
	{0x04, 77, 3, "FileIO/DirNotify", FILE_IO_DIR_ENUM_V3},
	{0x05, 1, 1, "Thread/Start", THREAD_V1},
	{0x05, 1, 2, "Thread/Start", THREAD_V2},
	{0x05, 1, 3, "Thread/Start", THREAD_V3},
	{0x05, 2, 1, "Thread/Stop", THREAD_V1},
	{0x05, 2, 2, "Thread/Stop", THREAD_V2},
	{0x05, 2, 3, "Thread/Stop", THREAD_V3},
	{0x05, 3, 1, "Thread/DCStart", THREAD_V1},
	{0x05, 3, 2, "Thread/DCStart", THREAD_V2},
	{0x05, 3, 3, "Thread/DCStart", THREAD_V3},
	{0x05, 4, 1, "Thread/DCStop", THREAD_V1},
	{0x05, 4, 2, "Thread/DCStop", THREAD_V2},
	{0x05, 4, 3, "Thread/DCStop", THREAD_V3},
	{0x05, 36, 2, "Thread/CSwitch",
	 "NewThreadId:u32 OldThreadId:u32 NewThreadPriority:i8 OldThreadPriority:i8 PreviousCState:u8 "
	 "SpareByte:i8 OldThreadWaitReason:i8{wait} OldThreadWaitMode:i8{mode} OldThreadState:i8{state} "
	 "OldThreadWaitIdealProcessor:i8 NewThreadWaitTime:u32 Reserved:u32"},
	{0x05, 50, 2, "Thread/ReadyThread",
	 "TThreadId:u32 AdjustReason:i8 AdjustIncrement:i8 Flag:i8 Reserved:i8"},
	{0x05, 72, 2, "Thread/SetName", "ProcessId:u32 ThreadId:u32 ThreadName:wstr"},
	{0x06, 10, 2, "TcpIp/Send",
	 "PID:u32 size:u32 daddr:ip4 saddr:ip4 dport:be16 sport:be16 startime:u32 endtime:u32 "
	 "seqnum:u32 connid:ptr"},
	{0x06, 11, 2, "TcpIp/Recv", TCP_IP_V2},
	{0x06, 12, 2, "TcpIp/Connect", TCP_IP_CONNECT_V2},
	{0x06, 13, 2, "TcpIp/Disconnect", TCP_IP_V2},
	{0x06, 14, 2, "TcpIp/Retransmit", TCP_IP_V2},
	{0x06, 15, 2, "TcpIp/Accept", TCP_IP_CONNECT_V2},
	{0x06, 16, 2, "TcpIp/Reconnect", TCP_IP_V2},
	{0x06, 18, 2, "TcpIp/TCPCopy", TCP_IP_V2},
	{0x06, 26, 2, "TcpIp/SendIPV6",
	 "PID:u32 size:u32 daddr:ip6 saddr:ip6 dport:be16 sport:be16 startime:u32 endtime:u32 "
	 "seqnum:u32 connid:ptr"},
	{0x06, 27, 2, "TcpIp/RecvIPV6", TCP_IP_RECV_IPV6_V2},
	{0x06, 28, 2, "TcpIp/ConnectIPV6", TCP_IP_CONNECT_IPV6_V2},
	{0x06, 29, 2, "TcpIp/DisconnectIPV6", TCP_IP_RECV_IPV6_V2},
	{0x06, 30, 2, "TcpIp/RetransmitIPV6", TCP_IP_RECV_IPV6_V2},
	{0x06, 31, 2, "TcpIp/AcceptIPV6", TCP_IP_CONNECT_IPV6_V2},
	{0x06, 32, 2, "TcpIp/ReconnectIPV6", TCP_IP_RECV_IPV6_V2},
	{0x06, 34, 2, "TcpIp/TCPCopyIPV6", TCP_IP_RECV_IPV6_V2},
	{0x08, 10, 2, "UdpIp/Send", TCP_IP_V2},
	{0x08, 11, 2, "UdpIp/Recv", TCP_IP_V2},
	{0x08, 26, 2, "UdpIp/SendIPV6", TCP_IP_RECV_IPV6_V2},
	{0x08, 27, 2, "UdpIp/RecvIPV6", TCP_IP_RECV_IPV6_V2},
	{0x09, 10, 2, "Registry/Create", REGISTRY_V2},
	{0x09, 11, 2, "Registry/Open", REGISTRY_V2},
	{0x09, 12, 2, "Registry/Delete", REGISTRY_V2},
	{0x09, 13, 2, "Registry/Query", REGISTRY_V2},
	{0x09, 14, 2, "Registry/SetValue", REGISTRY_V2},
	{0x09, 15, 2, "Registry/DeleteValue", REGISTRY_V2},
	{0x09, 16, 2, "Registry/QueryValue", REGISTRY_V2},
	{0x09, 17, 2, "Registry/EnumerateKey", REGISTRY_V2},
	{0x09, 18, 2, "Registry/EnumerateValueKey", REGISTRY_V2},
	{0x09, 19, 2, "Registry/QueryMultipleValue", REGISTRY_V2},
	{0x09, 20, 2, "Registry/SetInformation", REGISTRY_V2},
	{0x09, 21, 2, "Registry/Flush", REGISTRY_V2},
	{0x09, 22, 2, "Registry/KCBCreate", REGISTRY_V2},
	{0x09, 23, 2, "Registry/KCBDelete", REGISTRY_V2},
	{0x09, 24, 2, "Registry/KCBRundownBegin", REGISTRY_V2},
	{0x09, 25, 2, "Registry/KCBRundownEnd", REGISTRY_V2},
	{0x09, 26, 2, "Registry/Virtualize", REGISTRY_V2},
	{0x09, 27, 2, "Registry/Close", REGISTRY_V2},
	{0x0b, 10, 0, "SystemConfig/CPU", NULL},
	{0x0b, 11, 0, "SystemConfig/PhyDisk", NULL},
	{0x0b, 12, 0, "SystemConfig/LogDisk", NULL},
	{0x0b, 13, 0, "SystemConfig/NIC", NULL},
	{0x0b, 14, 0, "SystemConfig/Video", NULL},
	{0x0b, 15, 3, "SystemConfig/Services",
	 "ProcessId:u32 ServiceState:u32 SubProcessTag:u32 ServiceName:wstr DisplayName:wstr "
	 "ProcessName:wstr LoadOrderGroup:wstr SvchostGroup:wstr"},
	{0x0b, 16, 2, "SystemConfig/Power", "S1:u8 S2:u8 S3:u8 S4:u8 S5:u8 Pad1:u8 Pad2:u8 Pad3:u8"},
	{0x0b, 17, 2, "SystemConfig/Network",
	 "TcbTablePartitions:u32 MaxHashTableSize:u32 MaxUserPort:u32 TcpTimedWaitDelay:u32"},
	{0x0b, 21, 0, "SystemConfig/IRQ", NULL},
	{0x0b, 22, 3, "SystemConfig/PnP",
	 "IDLength:u32 DescriptionLength:u32 FriendlyNameLength:u32 DeviceID:wstr "
	 "DeviceDescription:wstr FriendlyName:wstr PdoName:wstr"},
	{0x0b, 22, 4, "SystemConfig/PnP",
	 "ClassGuid:guid UpperFiltersCount:u32 LowerFiltersCount:u32 DeviceID:wstr "
	 "DeviceDescription:wstr FriendlyName:wstr PdoName:wstr ServiceName:wstr "
	 "UpperFilters:wstr[UpperFiltersCount] LowerFilters:wstr[LowerFiltersCount]"},
	{0x0b, 23, 0, "SystemConfig/IDEChannel", NULL},
	{0x0b, 25, 0, "SystemConfig/Platform", NULL},
	{0x0f, 46, 2, "PerfInfo/Sample", "InstructionPointer:ptr ThreadId:u32 Count:u16 Flags:u16"},
	{0x0f, 47, 2, "PerfInfo/PmcCounterProf",
	 "InstructionPointer:ptr ThreadId:u32 ProfileSource:u16 Reserved:u16"},
	{0x0f, 51, 2, "PerfInfo/SysClEnter", "SysCallAddress:ptr"},
	{0x0f, 52, 2, "PerfInfo/SysClExit", "SysCallNtStatus:x32"},
	{0x0f, 66, 2, "PerfInfo/ThreadedDPC", PERF_INFO_V2},
	{0x0f, 67, 2, "PerfInfo/ISR",
	 "InitialTime:u64 Routine:ptr ReturnValue:u8 Vector:u16 MessageNumber:u8"},
	{0x0f, 68, 2, "PerfInfo/DPC", PERF_INFO_V2},
	{0x0f, 69, 2, "PerfInfo/TimerDPC", PERF_INFO_V2},
	{0x0f, 73, 2, "PerfInfo/CollectionStart", PERF_INFO_COLLECTION_START_V2},
	{0x0f, 73, 3, "PerfInfo/CollectionStart", PERF_INFO_V3},
	{0x0f, 74, 2, "PerfInfo/CollectionEnd", PERF_INFO_COLLECTION_START_V2},
	{0x0f, 74, 3, "PerfInfo/CollectionEnd", PERF_INFO_V3},
	{0x14, 2, 1, "Image/Unload", IMAGE_V1},
	{0x14, 2, 2, "Image/Unload", IMAGE_V2},
	{0x14, 2, 3, "Image/Unload", IMAGE_V3},
	{0x14, 3, 1, "Image/DCStart", IMAGE_V1},
	{0x14, 3, 2, "Image/DCStart", IMAGE_V2},
	{0x14, 3, 3, "Image/DCStart", IMAGE_V3},
	{0x14, 4, 1, "Image/DCStop", IMAGE_V1},
	{0x14, 4, 2, "Image/DCStop", IMAGE_V2},
	{0x14, 4, 3, "Image/DCStop", IMAGE_V3},
	{0x14, 10, 2, "Image/Load", IMAGE_V2},
	{0x14, 10, 3, "Image/Load", IMAGE_V3},
	{0x14, 33, 2, "Image/KernelBase", "ImageBase:ptr"},
	{0x14, 34, 2, "Image/HypercallPage", "ImageBase:ptr"},
	{0x18, 32, 2, "StackWalk/Stack",
	 "EventTimeStamp:u64 StackProcess:u32 StackThread:u32 Stack:ptr[]"},
	{0x18, 35, 2, "StackWalk/KeyDelete", "StackKey:ptr Stack:ptr[]"},
	{0x18, 36, 2, "StackWalk/KeyRundown", "StackKey:ptr Stack:ptr[]"},
	{0x18, 37, 2, "StackWalk/StackKeyKernel", STACK_WALK_V2},
	{0x18, 38, 2, "StackWalk/StackKeyUser", STACK_WALK_V2},
};

static const struct classic_layout classic_layouts[] = {
	{SYSTEM_CONFIG_GUID, 32, 0, "SysConfig/BuildInfo", "InstallDate:u64 BuildLab:wstr ProductName:wstr"},
	{SYSTEM_CONFIG_GUID, 33, 0, "SysConfig/SystemPaths", "SystemDirectory:wstr SystemWindowsDirectory:wstr"},
	{SYSTEM_CONFIG_GUID, 34, 0, "SysConfig/UnknownVolume", "Value:wstr"},
	{SYSTEM_CONFIG_GUID, 35, 0, "SysConfig/VolumeMapping", "NtPath:wstr DosPath:wstr"},
	{IMAGE_ID_GUID, 0, 2, "ImageID",
	 "ImageBase:ptr ImageSize:ptr ProcessId:u32 TimeDateStamp:u32 OriginalFileName:wstr"},
	{IMAGE_ID_GUID, 32, 2, "ImageID/None", "ImageBase:ptr ProcessId:u32"},
	{IMAGE_ID_GUID, 36, 2, "ImageID/DbgID_RSDS", IMAGE_ID_V2},
	{IMAGE_ID_GUID, 37, 2, "ImageID/DbgID_ILRSDS", IMAGE_ID_V2},
	{IMAGE_ID_GUID, 64, 0, "ImageID/FileVersion",
	 "ImageSize:u32 TimeDateStamp:u32 OrigFileName:wstr FileDescription:wstr FileVersion:wstr "
	 "BinFileVersion:wstr VerLanguage:wstr ProductName:wstr CompanyName:wstr ProductVersion:wstr "
	 "FileId:wstr ProgramId:wstr"},
};
// clang-format on
