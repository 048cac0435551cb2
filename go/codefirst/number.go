package codefirst

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// What both codecs say of numbers and times (code-first.md 3.2). A whole number
// of any type is a sign and a magnitude.

var errRange = badValue("a number out of range")

// notWhole is what came instead of a whole number.
type notWhole string

func (n notWhole) Error() string { return string(n) }

// maxSafe is 2^53 - 1: up to it a float of 64 bits represents every whole number.
const maxSafe = 1<<53 - 1

// wholeFloat is the whole number that a float stands for.
func wholeFloat(f float64) (negative bool, magnitude uint64, err error) {
	switch {
	case math.Abs(f) > maxSafe && !math.IsInf(f, 0):
		return false, 0, notWhole("a float beyond 2^53 - 1")
	case f != math.Trunc(f) || math.IsInf(f, 0):
		return false, 0, notWhole("a float that is not whole")
	}
	return f < 0, uint64(math.Abs(f)), nil
}

// signed is a whole number of so many bits, unless err says that it is none.
func signed(negative bool, magnitude uint64, bits int, err error) (int64, error) {
	switch {
	case err != nil:
	case negative && magnitude <= 1<<(bits-1):
		return -int64(magnitude), nil
	case !negative && magnitude < 1<<(bits-1):
		return int64(magnitude), nil
	default:
		err = errRange
	}
	return 0, wholeWanted(bits, true, err)
}

// unsigned likewise.
func unsigned(negative bool, magnitude uint64, bits int, err error) (uint64, error) {
	if err == nil && (negative && magnitude != 0 || bits < 64 && magnitude>>bits != 0) {
		err = errRange
	}
	if err != nil {
		return 0, wholeWanted(bits, false, err)
	}
	return magnitude, nil
}

// wholeWanted says which whole numbers are wanted, if that is what err is about.
func wholeWanted(bits int, signed bool, err error) error {
	var instead notWhole
	if !errors.As(err, &instead) && !errors.Is(err, errRange) {
		return err
	}
	least, most := "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	if signed {
		least, most = strconv.FormatInt(math.MinInt64>>(64-bits), 10), strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
	}
	return unwanted("a whole number from "+least+" to "+most, err.Error())
}

// narrowed is f as the nearest float of so many bits.
func narrowed(f float64, bits int) (float64, error) {
	if bits == 64 {
		return f, nil
	}
	narrow := float64(float32(f))
	if math.IsInf(narrow, 0) && !math.IsInf(f, 0) {
		return 0, unwanted("a float of 32 bits", "one out of range")
	}
	return narrow, nil
}

// The seconds of the first and last times that can be carried, of the years 1 to
// 9999.
const earliest, latest = -62135596800, 253402300799

var errTimeRange = unwanted("a time of the years 1 to 9999", "another")

func checkTime(t time.Time) error {
	if s := t.Unix(); s < earliest || s > latest {
		return errTimeRange
	}
	return nil
}
