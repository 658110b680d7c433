package engines

import (
	"net"
	"os/exec"
	"strconv"
)

// openDynoxide starts dynoxide, all in memory. It cannot choose a port and report it, so
// a free port is looked up. If another process takes it in between, the child ends, and
// another port is tried.
func openDynoxide() (*running, error) {
	binary, err := tool(dynoxideBinary)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		p, err := launch(exec.Command(binary, "--host", "127.0.0.1", "--port", strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		r, err := p.serve("http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil || attempt == 5 {
			return r, err
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
