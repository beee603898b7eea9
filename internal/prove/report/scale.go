package report

import (
	"math"
	"slices"
	"time"
)

// scale maps the times of two runs to places between 0 and 100, the same for both. Steps of one
// name begin at one place, so that what is the same stands below each other. Time is stretched where
// much happens: bursts of milliseconds and waits of seconds are both to be seen.
type scale struct {
	bands []band
}

// band is a step's part of the scale.
type band struct {
	// name and occurrence tell the step. That before the first one has no name.
	name       string
	occurrence int
	// offsets are times since the step's begin, places where they are, both rising.
	offsets []time.Duration
	places  []float64
}

// detail is the time from which on gaps become narrower.
const detail = 2 * time.Millisecond

// newScale makes the scale of a run and, unless it is nil, of one beside it. Steps that only the
// latter has are not on it.
func newScale(failing, reference *Course) *scale {
	s := &scale{}
	for i, begin := range begins(failing) {
		b := band{name: begin.name, occurrence: begin.occurrence, offsets: inside(failing, i)}
		if j := find(reference, begin.name, begin.occurrence); j >= 0 {
			b.offsets = append(b.offsets, inside(reference, j)...)
		}
		slices.Sort(b.offsets)
		b.offsets = slices.Compact(b.offsets)
		s.bands = append(s.bands, b)
	}
	s.place()
	return s
}

// begin is where a step begins in a run.
type begin struct {
	name       string
	occurrence int
	at         time.Time
}

// begins are those of a run's steps, and before them that of the run itself.
func begins(c *Course) []begin {
	all := []begin{{at: c.Started}}
	seen := map[string]int{}
	for _, step := range c.Steps {
		seen[step.Name]++
		all = append(all, begin{step.Name, seen[step.Name], step.At})
	}
	return all
}

func find(c *Course, name string, occurrence int) int {
	if c == nil {
		return -1
	}
	return slices.IndexFunc(begins(c), func(b begin) bool { return b.name == name && b.occurrence == occurrence })
}

// inside are the times of what happens in a step of a run, its begin and its end among them.
func inside(c *Course, step int) []time.Duration {
	all := begins(c)
	from, to := all[step].at, end(c)
	if step+1 < len(all) {
		to = all[step+1].at
	}
	offsets := []time.Duration{0, max(0, to.Sub(from))}
	for _, at := range moments(c) {
		if !at.Before(from) && at.Before(to) {
			offsets = append(offsets, at.Sub(from))
		}
	}
	return offsets
}

// end is that of a run, or of the last thing that is known of it.
func end(c *Course) time.Time {
	last := c.Started.Add(c.Took)
	for _, at := range moments(c) {
		if at.After(last) {
			last = at
		}
	}
	return last
}

func moments(c *Course) []time.Time {
	var all []time.Time
	for _, r := range c.Requests {
		all = append(all, r.At)
	}
	for _, change := range c.Changes {
		all = append(all, change.At)
	}
	for _, exit := range c.Exits {
		all = append(all, exit.At)
	}
	return all
}

// place gives each offset its place.
func (s *scale) place() {
	at := 0.0
	for i := range s.bands {
		b := &s.bands[i]
		before := time.Duration(0)
		for _, offset := range b.offsets {
			at += math.Log2(1 + float64(offset-before)/float64(detail))
			b.places = append(b.places, at)
			before = offset
		}
	}
	if at == 0 {
		return
	}
	for _, b := range s.bands {
		for i := range b.places {
			b.places[i] *= 100 / at
		}
	}
}

// at is the place of a moment of a run. Moments of steps that are not on the scale have none.
func (s *scale) at(c *Course, moment time.Time) (float64, bool) {
	all := begins(c)
	step := 0
	for i, b := range all {
		if !moment.Before(b.at) {
			step = i
		}
	}
	i := slices.IndexFunc(s.bands, func(b band) bool { return b.name == all[step].name && b.occurrence == all[step].occurrence })
	if i < 0 {
		return 0, false
	}
	return s.bands[i].at(max(0, moment.Sub(all[step].at))), true
}

// at is the place of a time since the band's begin.
func (b *band) at(offset time.Duration) float64 {
	i, exact := slices.BinarySearch(b.offsets, offset)
	switch {
	case exact:
		return b.places[i]
	case i == len(b.offsets):
		return b.places[i-1]
	}
	part := float64(offset-b.offsets[i-1]) / float64(b.offsets[i]-b.offsets[i-1])
	return b.places[i-1] + part*(b.places[i]-b.places[i-1])
}

// quiet is the time from which on a gap is labelled.
const quiet = 400 * time.Millisecond

// gap is a time in which nothing happened.
type gap struct {
	At   float64
	Took string
}

// gaps are the long ones that there is room to label.
func (s *scale) gaps() []gap {
	var all []gap
	for _, b := range s.bands {
		for i := 1; i < len(b.offsets); i++ {
			wide := b.places[i] - b.places[i-1]
			if long := b.offsets[i] - b.offsets[i-1]; long >= quiet && wide >= 5 {
				all = append(all, gap{round(b.places[i-1] + wide/2), took(long.Round(100 * time.Millisecond))})
			}
		}
	}
	return all
}

// round is a place as short as can be seen.
func round(place float64) float64 { return math.Round(place*100) / 100 }
