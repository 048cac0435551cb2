package registry

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// coreOf is a case of the embedded registry's core.
type coreOf struct {
	ID     string
	Lease  int
	Limits struct{ Keys, Bytes, Watches int }
	Steps  []struct {
		At      int
		Call    string
		Publish *[]string
		Watch   *string
		Renew   string
		End     string
		Restore *[]string
		Whole   bool
		Stopped bool
	}
	Until int
	Told  []tellingOf
}

// tellingOf is what a call is told, as vectors write it.
type tellingOf struct {
	At        int
	To        string
	Answered  bool
	Code      string
	Text      string
	All, Came *map[string]string
	Partial   *map[string]string
	Went      []string
}

func (t tellingOf) String() string {
	texts := func(m *map[string]string) string {
		if m == nil {
			return "-"
		}
		return fmt.Sprint(*m)
	}
	if t.Came != nil && len(*t.Came) == 0 {
		t.Came = nil
	}
	return fmt.Sprint(t.At, t.To, t.Answered, t.Code, t.Text, texts(t.All), texts(t.Partial), texts(t.Came), t.Went)
}

func TestVectorCores(t *testing.T) {
	for _, v := range read(t).Cores {
		var got []tellingOf
		names := []string{}
		number := func(name string) uint64 {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			return uint64(slices.Index(names, name))
		}
		var c *core
		c = newCore(func(call uint64, what telling) {
			one := tellingOf{At: int(c.last / time.Millisecond), To: names[call], Answered: what.answered, Went: what.went}
			came := map[string]string{}
			for _, e := range what.came {
				came[e.ID] = string(e.Data)
			}
			slices.Sort(one.Went)
			switch {
			case what.err != nil:
				one.Code, one.Text = trunkcall.StatusOf(what.err).Code.String(), trunkcall.StatusOf(what.err).Message
			case what.all && c.unsure:
				one.Partial = &came
			case what.all:
				one.All = &came
			default:
				one.Came = &came
			}
			got = append(got, one)
		})
		set := func(field *int, to int) {
			if to != 0 {
				*field = to
			}
		}
		c.lease = time.Duration(v.Lease) * time.Millisecond
		set(&c.keys, v.Limits.Keys)
		set(&c.bytes, v.Limits.Bytes)
		set(&c.watches, v.Limits.Watches)
		now, each := 0, v.Lease/ticksOfLease
		until := func(at int, stopped bool) {
			for tick := now - now%each + each; tick <= at && !stopped; tick += each {
				c.time(time.Duration(tick) * time.Millisecond)
			}
			now = at
			c.time(time.Duration(at) * time.Millisecond)
		}
		for _, s := range v.Steps {
			until(s.At, s.Stopped)
			switch {
			case s.Publish != nil:
				c.publish(number(s.Call), bytesOf(*s.Publish))
			case s.Watch != nil:
				c.watch(number(s.Call), *s.Watch)
			case s.Renew != "":
				c.renew(number(s.Renew))
			case s.End != "":
				c.end(number(s.End))
			case s.Restore != nil:
				var records []Written
				for _, data := range bytesOf(*s.Restore) {
					r, err := Parse(data)
					if err != nil {
						t.Fatal(v.ID, err)
					}
					records = append(records, Written{r, data})
				}
				c.restore(records, s.Whole)
			}
		}
		until(v.Until, false)
		if !slices.EqualFunc(got, v.Told, func(a, b tellingOf) bool {
			if told(errText(a.Text), b.Text) {
				b.Text = a.Text
			}
			return a.String() == b.String()
		}) {
			t.Errorf("%s: told\n%v\nwant\n%v", v.ID, got, v.Told)
		}
	}
}

func bytesOf(texts []string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

func TestVectorStates(t *testing.T) {
	v := read(t)
	for _, s := range v.States {
		if text := string(appendState(nil, bytesOf(s.Records))); text != s.Text {
			t.Errorf("%s: written as %s\nwant %s", s.ID, text, s.Text)
		}
		if records, err := parseState([]byte(s.Text)); err != nil || !slices.Equal(textsOf(records), s.Records) {
			t.Errorf("%s: read as %q, %v", s.ID, textsOf(records), err)
		}
	}
	for _, s := range v.BadStates {
		data, err := hex.DecodeString(s.Hex)
		if err != nil {
			t.Fatal(err)
		}
		if records, err := parseState(data); !told(err, s.Error) || !slices.Equal(textsOf(records), s.Records) {
			t.Errorf("%s: %q, %v\nwant %q, %s", s.ID, textsOf(records), err, s.Records, s.Error)
		}
	}
}

func textsOf(records []Written) []string {
	texts := []string{}
	for i := range records {
		texts = append(texts, string(records[i].Data))
	}
	return texts
}
