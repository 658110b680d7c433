package child

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object, which has all processes that its first one starts. Windows ends
// them when the last handle of the job is closed, which happens when this process ends.
// https://learn.microsoft.com/windows/win32/procthread/job-objects
type group struct{ job windows.Handle }

// prepare lets the process begin suspended: it starts no other before it is in the job.
func (group) prepare(attr *syscall.SysProcAttr) {
	attr.CreationFlags |= windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP
}

func (g *group) started(process *os.Process) (err error) {
	g.job, err = windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create a job object: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, windows.CloseHandle(g.job))
		}
	}()
	if err := g.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		return err
	}
	err = process.WithHandle(func(handle uintptr) {
		err = windows.AssignProcessToJobObject(g.job, windows.Handle(handle))
	})
	if err != nil {
		return fmt.Errorf("assign the process to a job object: %w", err)
	}
	return resume(uint32(process.Pid))
}

func (g *group) limit(flags uint32) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	_, err := windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return fmt.Errorf("limit a job object: %w", err)
	}
	return nil
}

// resume lets the only thread of a process begin. The handle that CreateProcess returns
// for the thread is closed by package os.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open a thread: %w", err)
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return fmt.Errorf("the process has no thread: %w", err)
}

func (g *group) signal(leader int, sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		const code = 128 + uint32(syscall.SIGKILL) // as a shell reports it
		return windows.TerminateJobObject(g.job, code)
	}
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(leader))
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times                              [4]int64
	pageFaults, total, active, stopped uint32
}

func (g *group) gone(int) bool {
	const basicAccounting = 1
	var info accounting
	err := windows.QueryInformationJobObject(g.job, basicAccounting, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.active == 0
}

// Leave lets what the child has started live on when this process ends.
func (c *Child) Leave() error { return c.group.limit(0) }
