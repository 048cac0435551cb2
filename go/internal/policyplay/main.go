// Command policyplay carries out cases of policies (spec/vectors/policy): a case in JSON on each line
// of standard input, its outcome on a line of standard output. spec/vectors/README.md tells their
// form. conformance/random_policies.py compares it with that of other languages.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "policyplay-go:", err)
		os.Exit(1)
	}
}

func serve() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		var c playCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return err
		}
		told, err := c.play()
		if err != nil {
			return err
		}
		line, err := json.Marshal(told)
		if err != nil {
			return err
		}
		_, _ = out.Write(append(line, '\n'))
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return in.Err()
}

// playCase is a case: a file, in hexadecimal digits, and the methods to tell of; or the name of a
// core, the policy that it goes by, and steps.
type playCase struct {
	File    string          `json:"file"`
	Methods []string        `json:"methods"`
	Core    string          `json:"core"`
	Policy  json.RawMessage `json:"policy"`
	Steps   []step          `json:"steps"`
}

type told = map[string]any

func (c *playCase) play() (told, error) {
	if c.Core == "" {
		data, err := hex.DecodeString(c.File)
		if err != nil {
			return nil, err
		}
		return tellFile(data, c.Methods), nil
	}
	f, err := policy.Parse(c.Policy)
	if err != nil {
		return nil, err
	}
	begin := cores[c.Core]
	if begin == nil {
		return nil, fmt.Errorf("there is no core %q", c.Core)
	}
	play := begin(f, f.For("package.Service", "Method"))
	decisions := make([]told, len(c.Steps))
	for i := range c.Steps {
		s := &c.Steps[i]
		s.number = i
		decision, err := takeStep(play, s)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		decisions[i] = decision
	}
	return told{"decisions": decisions}, nil
}

func takeStep(play func(*step) told, s *step) (decision told, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("%v", thrown)
		}
	}()
	if decision = play(s); decision == nil {
		return nil, errors.New("no such event: " + s.Event)
	}
	if s.drawn > 0 {
		decision["drawn"] = s.drawn
	}
	return decision, nil
}

func tellFile(data []byte, methods []string) told {
	f, err := policy.Parse(data)
	var bad *policy.BadFile
	if errors.As(err, &bad) {
		faults := make([]string, len(bad.Faults))
		for i, fault := range bad.Faults {
			faults[i] = fault.String()
		}
		return told{"faults": faults}
	}
	holds := told{}
	for _, name := range methods {
		service, method, _ := strings.Cut(name, "/")
		holds[name] = tellPolicy(f.For(service, method))
	}
	return told{"budget": told{"percent": f.Budget.Percent, "least": f.Budget.Least}, "methods": holds}
}
