package policy

import "time"

// Place is where a call goes (policy.md 14).
type Place int

// The places: endpoints of any zone, of the client's own, of others.
const (
	AllZones Place = iota
	OwnZone
	OtherZones
)

// Zoned is what there is to choose among: of the client's zone how many endpoints, how many of them
// available, and how many calls are open there; how many endpoints are available elsewhere.
type Zoned struct{ Total, Available, Calls, Others int64 }

// Pick chooses the zone of a call. Random is asked where too few endpoints of the own zone are
// available.
func (z *ZoneRules) Pick(there Zoned, random Random) Place {
	switch {
	case there.Available == 0:
		return AllZones
	case there.Others == 0:
		return OwnZone
	case z.OverflowCalls > 0 && there.Calls >= z.OverflowCalls*there.Available:
		return OtherZones
	case there.Available*100 >= z.Healthy*there.Total:
		return OwnZone
	case int64(part(time.Duration(z.Healthy*there.Total), random)) < there.Available*100:
		return OwnZone
	}
	return OtherZones
}

// Injected is what faults for drills do to a call: it waits, and then ends with a code and the name
// of a fault, or, where that is OK, goes on.
type Injected struct {
	Delay time.Duration
	Code  Code
	Name  string
}

// Inject draws the faults of a call (policy.md 15), which are in the order of their names.
func Inject(faults []FaultRules, random Random) Injected {
	var i Injected
	for _, f := range faults {
		if int64(part(1_000_000, random)) >= f.PerMillion {
			continue
		}
		i.Delay += f.Delay
		if f.Code != OK {
			i.Code, i.Name = f.Code, f.Name
			break
		}
	}
	return i
}
