package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// stateFirst is the first line of a state file (spec/registry.md 9.6).
const stateFirst = "trunkcall registry 1"

// largestState is more than the file of a full registry has.
const largestState = mostBytes + mostKeys + 1<<10

// appendState appends a state file of records, which are in the order of their keys.
func appendState(b []byte, records [][]byte) []byte {
	b = append(b, stateFirst+"\n"...)
	for _, data := range records {
		b = append(append(b, data...), '\n')
	}
	return fmt.Appendf(b, "end %d\n", len(records))
}

// parseState reads a state file. The records are those ahead of what is at fault, of which the error says LINE: TEXT.
func parseState(data []byte) ([]Written, error) {
	var records []Written
	there := map[string]struct{}{}
	for number := 1; ; number++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		switch {
		case number == 1:
			if !whole || string(line) != stateFirst {
				return nil, fmt.Errorf("1: want %q", stateFirst)
			}
		case !whole:
			return records, fmt.Errorf("%d: want a record or \"end %d\"", number, len(records))
		case bytes.HasPrefix(line, []byte("end ")):
			if string(line) != fmt.Sprintf("end %d", len(records)) {
				return records, fmt.Errorf("%d: want \"end %d\"", number, len(records))
			}
			if len(rest) > 0 {
				return records, fmt.Errorf("%d: want nothing behind the end", number+1)
			}
			return records, nil
		default:
			r, err := parseLine(line)
			if err != nil {
				return records, fmt.Errorf("%d: %w", number, err)
			}
			if _, twice := there[r.Key()]; twice {
				return records, fmt.Errorf("%d: %s is there twice", number, r.Key())
			}
			there[r.Key()] = struct{}{}
			records = append(records, Written{r, line})
		}
		data = rest
	}
}

// stateError says what is at fault in a state file.
type stateError struct{ error }

// readState reads a file. It is whole if it was there and nothing is wrong with it. The error is fs.ErrNotExist if it is
// not there, and names the file and the line otherwise.
func readState(path string) (records []Written, whole bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the user names it; it may be a pipe
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil {
		return nil, false, err
	} else if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s: want a file, not a folder or the like", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, largestState))
	if err != nil {
		return nil, false, err
	}
	if records, err = parseState(data); err != nil {
		return records, false, stateError{fmt.Errorf("%s:%w", path, err)}
	}
	return records, true, nil
}

// writeState writes a file beside the one that is there, and renames it.
func writeState(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+unfinishedEnds)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: its folder is not there", path)
	case err != nil:
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o600), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// missingState reports whether an error of readState says that the file is not there, as at the first start.
func missingState(err error) bool { return errors.Is(err, fs.ErrNotExist) }
