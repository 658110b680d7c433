package process

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits is for help texts: what is not ended here.
const Limits = "Not ended with queuelock: what docker, at or ssh start, and all if kill -9 hits its supervisor too."

// seesOrphans reports whether descendants are known wherever they are.
func seesOrphans() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// program is the path by which this program is started again. It is the same file even
// if another version was installed meanwhile.
func program() (string, error) {
	if !seesOrphans() {
		return exec.LookPath(os.Args[0])
	}
	return "/proc/self/exe", nil
}

// disguise changes the name by which killall and pkill find this process, so that they do
// not kill both processes at once.
func disguise(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }

// adopt makes this process the parent of orphans below it.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// dieWithParent lets the kernel kill a process when the thread that started it ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// descendants are the processes below one, as far as this user sees them; none if there
// is no /proc.
func descendants(root int) []member {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := make(map[int][]member)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if m, ok := look(pid); ok {
			children[m.parent] = append(children[m.parent], m)
		}
	}
	found := slices.Clone(children[root])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// look reads what /proc says of a process: "pid (name) state parent group …". The name
// may have any character.
func look(pid int) (member, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return member{}, false
	}
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return member{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 3 {
		return member{}, false
	}
	m := member{pid: pid, name: string(text[begin+1 : end]), zombie: fields[0] == "Z" || fields[0] == "X"}
	m.parent, _ = strconv.Atoi(fields[1])
	m.group, _ = strconv.Atoi(fields[2])
	return m, true
}

// clock is time of this host, which goes on while the host is suspended.
func clock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
