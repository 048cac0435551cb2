package load

import (
	"errors"
	"flag"
	"time"
)

// DurationVar registers a flag for a time. Unlike flag's own it says what form
// it wants when it is given something else.
func DurationVar(fs *flag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	fs.Var((*duration)(p), name, usage)
}

type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return errors.New("want a time such as 2s or 250ms")
	}
	*d = duration(parsed)
	return nil
}
