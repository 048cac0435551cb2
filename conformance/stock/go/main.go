// Program grpc-go carries out conformance cases with grpc-go, unmodified, and the code
// that its plugin generates. conformance/cases/README.md describes the lines that it
// reads and prints.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc"
)

func main() {
	lines := bufio.NewReader(os.Stdin)
	p := program{lines: lines, results: json.NewEncoder(os.Stdout), kept: map[string]*grpc.ClientConn{}}
	p.results.SetEscapeHTML(false)
	if err := p.run(); err != nil {
		fmt.Fprintln(os.Stderr, "grpc-go:", err)
		os.Exit(1)
	}
}

type program struct {
	lines   *bufio.Reader
	results *json.Encoder
	kept    map[string]*grpc.ClientConn // by target and set-up
}

func (p *program) run() error {
	for {
		line, err := p.lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var one caseLine
		if err := json.Unmarshal(line, &one); err != nil {
			return fmt.Errorf("the line is no case: %w", err)
		}
		told := resultLine{Name: one.Name}
		if told.Outcomes, err = p.carryOut(&one); err != nil {
			told.Outcomes, told.Error = nil, err.Error()
		}
		if err := p.results.Encode(told); err != nil {
			return err
		}
	}
}

func (p *program) carryOut(one *caseLine) ([]*outcome, error) {
	conn, err := p.channel(one)
	if err != nil {
		return nil, err
	}
	if one.OwnConnection {
		defer conn.Close() //nolint:errcheck // it cannot fail, but for being closed already
	}
	return newCarrying(conn, func(what string) error { return p.askFor(one.Name, what) }).carryOut(one.Calls)
}

// askFor has the runner do something, and waits until that is done.
func (p *program) askFor(name, what string) error {
	if err := p.results.Encode(resultLine{Name: name, Do: what}); err != nil {
		return err
	}
	_, err := p.lines.ReadBytes('\n')
	return err
}
