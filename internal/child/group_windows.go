package child

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// group is a job object, which has all processes that its first one starts. Windows ends
// them when the last handle of the job is closed, which happens when this process ends.
// https://learn.microsoft.com/windows/win32/procthread/job-objects
type group struct{ job syscall.Handle }

// What package syscall does not have. The library's module requires no golang.org/x/sys, and the command's could not
// give it to the packages of the library's module.
var (
	kernel32                  = syscall.NewLazyDLL("kernel32.dll")
	createJobObject           = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject   = kernel32.NewProc("SetInformationJobObject")
	queryInformationJobObject = kernel32.NewProc("QueryInformationJobObject")
	assignProcessToJobObject  = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject        = kernel32.NewProc("TerminateJobObject")
	generateConsoleCtrlEvent  = kernel32.NewProc("GenerateConsoleCtrlEvent")
	thread32First             = kernel32.NewProc("Thread32First")
	thread32Next              = kernel32.NewProc("Thread32Next")
	openThread                = kernel32.NewProc("OpenThread")
	resumeThread              = kernel32.NewProc("ResumeThread")
)

const (
	createSuspended     = 0x4 // CREATE_SUSPENDED
	basicAccounting     = 1   // JobObjectBasicAccountingInformation
	extendedLimits      = 9   // JobObjectExtendedLimitInformation
	limitKillOnJobClose = 0x2000
	threadSuspendResume = 0x2 // THREAD_SUSPEND_RESUME
	resumeFailed        = 0xffffffff
	killed              = 128 + uintptr(syscall.SIGKILL) // as a shell reports it
)

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times                              [4]int64
	pageFaults, total, active, stopped uint32
}

// limits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type limits struct {
	times                        [2]int64
	flags                        uint32
	minWorkingSet, maxWorkingSet uintptr
	activeProcesses              uint32
	affinity                     uintptr
	priority, scheduling         uint32
	_                            [8 - unsafe.Sizeof(uintptr(0))]byte // C aligns the next to 8 bytes everywhere
	io                           [6]uint64
	memory                       [4]uintptr
}

// thread is THREADENTRY32.
type thread struct {
	size, usage, id, owner uint32
	priorities             [2]int32
	flags                  uint32
}

// call is for functions that return 0 if they fail. The directive keeps what an argument points to in place.
//
//go:uintptrescapes
func call(f *syscall.LazyProc, args ...uintptr) (uintptr, error) {
	result, _, err := f.Call(args...)
	if result == 0 {
		return 0, err
	}
	return result, nil
}

// prepare lets the process begin suspended: it starts no other before it is in the job.
func (group) prepare(attr *syscall.SysProcAttr) {
	attr.CreationFlags |= createSuspended | syscall.CREATE_NEW_PROCESS_GROUP
}

func (g *group) started(process *os.Process) (err error) {
	job, err := call(createJobObject, 0, 0)
	if err != nil {
		return fmt.Errorf("create a job object: %w", err)
	}
	g.job = syscall.Handle(job)
	defer func() {
		if err != nil {
			err = errors.Join(err, syscall.CloseHandle(g.job))
		}
	}()
	if err := g.limit(limitKillOnJobClose); err != nil {
		return err
	}
	errHandle := process.WithHandle(func(handle uintptr) {
		_, err = call(assignProcessToJobObject, uintptr(g.job), handle)
	})
	if err := errors.Join(errHandle, err); err != nil {
		return fmt.Errorf("assign the process to a job object: %w", err)
	}
	return resume(uint32(process.Pid))
}

func (g *group) limit(flags uint32) error {
	info := limits{flags: flags}
	_, err := call(setInformationJobObject, uintptr(g.job), extendedLimits, uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info))
	if err != nil {
		return fmt.Errorf("limit a job object: %w", err)
	}
	return nil
}

// resume lets the only thread of a process begin. The handle that CreateProcess returns
// for the thread is closed by package os.
func resume(pid uint32) error {
	snapshot, err := syscall.CreateToolhelp32Snapshot(syscall.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = syscall.CloseHandle(snapshot) }()
	var entry thread
	entry.size = uint32(unsafe.Sizeof(entry))
	next := func(f *syscall.LazyProc) error {
		_, err := call(f, uintptr(snapshot), uintptr(unsafe.Pointer(&entry)))
		return err
	}
	for err = next(thread32First); err == nil; err = next(thread32Next) {
		if entry.owner != pid {
			continue
		}
		handle, err := call(openThread, threadSuspendResume, 0, uintptr(entry.id))
		if err != nil {
			return fmt.Errorf("open a thread: %w", err)
		}
		if count, _, failure := resumeThread.Call(handle); uint32(count) == resumeFailed {
			err = failure
		}
		return errors.Join(err, syscall.CloseHandle(syscall.Handle(handle)))
	}
	return fmt.Errorf("the process has no thread: %w", err)
}

func (g *group) signal(leader int, sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		_, err := call(terminateJobObject, uintptr(g.job), killed)
		return err
	}
	_, err := call(generateConsoleCtrlEvent, syscall.CTRL_BREAK_EVENT, uintptr(leader))
	return err
}

func (g *group) gone(int) bool {
	var info accounting
	_, err := call(queryInformationJobObject, uintptr(g.job), basicAccounting, uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info), 0)
	return err == nil && info.active == 0
}

// Leave lets what the child has started live on when this process ends.
func (c *Child) Leave() error { return c.group.limit(0) }
