package engines

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// loopbackSource starts DynamoDB Local on the loopback address: its own main class listens on every interface.
const loopbackSource = "internal/testbed/engines/LoopbackServer.java"

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)\n`)

// openDynamoDBLocal starts DynamoDB Local, all in memory, on a port that it chooses and prints.
func openDynamoDBLocal() (*running, error) {
	folder, err := tool(dynamoDBLocalFolder)
	if err != nil {
		return nil, err
	}
	source, err := tool(loopbackSource)
	if err != nil {
		return nil, err
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, missingError{"java is not installed: DynamoDB Local needs a JDK, 11 or later"}
	}

	cmd := exec.Command(java,
		// It holds a few small tables for a minute: a quick start and a small heap are worth more than the last compiler.
		"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.library.path=DynamoDBLocal_lib",
		"-cp", "DynamoDBLocal.jar"+string(os.PathListSeparator)+filepath.Join("DynamoDBLocal_lib", "*"),
		source)
	cmd.Dir = folder
	p, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	var address string
	if err := p.await(func(context.Context) error {
		found := listening.FindStringSubmatch(p.log())
		if found == nil {
			return errors.New("it has not said where it listens")
		}
		address = found[1]
		return nil
	}); err != nil {
		p.stop()
		return nil, err
	}
	r, err := p.serve("http://" + address)
	if err == nil {
		r.options.HTTPClient = refusals{r.options.HTTPClient} // the edition is of 2020
	}
	return r, err
}
