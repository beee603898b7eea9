// Package cron reads the five fields of a cron schedule and tells when it is due next. It is pure: no
// clock, no goroutine. Times are those of the wall in a time zone: one that a change of the clocks
// leaves out is not due that day, and one that it repeats is due once.
package cron

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schedule is when something is due.
type Schedule struct {
	minutes, hours, days, months, weekdays uint64 // bits
	// anyDay and anyWeekday tell that the field begins with a star. Where neither does, a day is due
	// that either says.
	anyDay, anyWeekday bool
	zone               *time.Location
}

// field is what one of the five may say.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min
}

var fields = []field{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of the week", max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var nicknames = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// Parse reads a schedule. zone is a name such as Europe/Berlin; none is UTC.
func Parse(text, zone string) (Schedule, error) {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return Schedule{}, fmt.Errorf("there is no time zone %q here; a program that runs where no zones are installed has to import time/tzdata", zone)
	}
	full := text
	if long, ok := nicknames[text]; ok {
		full = long
	}
	parts := strings.Fields(full)
	if len(parts) != len(fields) {
		return Schedule{}, fmt.Errorf("%q has %d fields, want five (minute, hour, day, month, day of the week) or one of @hourly, @daily, @weekly, @monthly, @yearly", text, len(parts))
	}
	var sets [5]uint64
	for i, part := range parts {
		if sets[i], err = fields[i].parse(part); err != nil {
			return Schedule{}, fmt.Errorf("%q: %w", text, err)
		}
	}
	s := Schedule{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		anyDay: parts[2][0] == '*', anyWeekday: parts[4][0] == '*', zone: location,
	}
	if s.weekdays&(1<<7) != 0 {
		s.weekdays |= 1 // Sunday is 0 and 7
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, fmt.Errorf("%q is never due", text)
	}
	return s, nil
}

func (f field) parse(text string) (uint64, error) {
	var set uint64
	for item := range strings.SplitSeq(text, ",") {
		values, err := f.item(item)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		set |= values
	}
	return set, nil
}

// item reads *, 5, 1-5 and any of them with /2.
func (f field) item(text string) (uint64, error) {
	span, every, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(every)
		if err != nil || n < 1 || n > f.max {
			return 0, fmt.Errorf("want a step from 1 to %d after the slash, not %q", f.max, every)
		}
		step = n
	}
	from, to := f.min, f.max
	if span != "*" {
		low, high, ranged := strings.Cut(span, "-")
		var err error
		if from, err = f.value(low); err != nil {
			return 0, err
		}
		if to = from; stepped {
			to = f.max
		}
		if ranged {
			if to, err = f.value(high); err != nil {
				return 0, err
			}
		}
	}
	if from > to {
		return 0, fmt.Errorf("%d comes after %d", from, to)
	}
	var set uint64
	for v := from; v <= to; v += step {
		set |= 1 << v
	}
	return set, nil
}

func (f field) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < f.min || v > f.max || text[0] == '+' {
		return 0, fmt.Errorf("want %d to %d, not %q", f.min, f.max, text)
	}
	return v, nil
}

// horizon is how far ahead something may be due: leap days are up to eight years apart.
const horizon = 366 * 8

// Next is the first time after another at which the schedule is due, or zero.
func (s Schedule) Next(after time.Time) time.Time {
	local := after.In(s.zone)
	year, month, day := local.Date()
	for i := range horizon {
		date := time.Date(year, month, day+i, 12, 0, 0, 0, s.zone) // there is a noon every day
		if !s.on(date) {
			continue
		}
		if due := s.at(date, after); !due.IsZero() {
			return due
		}
	}
	return time.Time{}
}

// on tells whether a day is one of the schedule's.
func (s Schedule) on(date time.Time) bool {
	if s.months&(1<<int(date.Month())) == 0 {
		return false
	}
	day, weekday := s.days&(1<<date.Day()) != 0, s.weekdays&(1<<int(date.Weekday())) != 0
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// at is the first time of a day after another.
func (s Schedule) at(date, after time.Time) time.Time {
	year, month, day := date.Date()
	for hours := s.hours; hours != 0; hours &= hours - 1 {
		hour := bits.TrailingZeros64(hours)
		for minutes := s.minutes; minutes != 0; minutes &= minutes - 1 {
			minute := bits.TrailingZeros64(minutes)
			due := time.Date(year, month, day, hour, minute, 0, 0, s.zone)
			if due.Hour() == hour && due.Minute() == minute && due.After(after) {
				return due
			}
		}
	}
	return time.Time{}
}
