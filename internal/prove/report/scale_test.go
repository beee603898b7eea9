package report

import (
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// runOf makes a run with steps and requests at milliseconds.
func runOf(took int, steps map[string]int, order []string, requests ...int) *Course {
	c := &Course{Started: zero, Took: time.Duration(took) * time.Millisecond}
	for _, name := range order {
		c.Steps = append(c.Steps, Step{Name: name, At: zero.Add(time.Duration(steps[name]) * time.Millisecond)})
	}
	for _, at := range requests {
		c.Requests = append(c.Requests, requestlog.Request{At: zero.Add(time.Duration(at) * time.Millisecond)})
	}
	return c
}

func TestScale(t *testing.T) {
	t.Parallel()
	failing := runOf(9000, map[string]int{"create": 100, "delete": 8000}, []string{"create", "delete"}, 150, 160, 7000, 8010)
	reference := runOf(2000, map[string]int{"create": 50, "delete": 1000, "recreate": 1500}, []string{"create", "delete", "recreate"}, 100, 110, 1010, 1600)
	s := newScale(failing, reference)
	at := func(c *Course, ms int) float64 {
		place, ok := s.at(c, zero.Add(time.Duration(ms)*time.Millisecond))
		if !ok {
			return -1
		}
		return round(place)
	}
	for name, same := range map[string][2]float64{
		"the first step's begin":    {at(failing, 100), at(reference, 50)},
		"a request of it":           {at(failing, 150), at(reference, 100)},
		"the next one":              {at(failing, 160), at(reference, 110)},
		"the second step's begin":   {at(failing, 8000), at(reference, 1000)},
		"a request of that":         {at(failing, 8010), at(reference, 1010)},
		"the begin":                 {at(failing, 0), 0},
		"the end":                   {at(failing, 9000), 100},
		"a step of the other alone": {at(reference, 1600), -1},
	} {
		if same[0] != same[1] {
			t.Errorf("%s is at %v and at %v", name, same[0], same[1])
		}
	}
	before := -1.0
	for ms := 0; ms <= 9000; ms += 5 {
		place := at(failing, ms)
		if place < before {
			t.Fatalf("after %d ms it is at %v, before at %v", ms, place, before)
		}
		before = place
	}
	if burst, wait := at(failing, 160)-at(failing, 150), at(failing, 7000)-at(failing, 6990); burst < 20*wait {
		t.Errorf("ten milliseconds of a burst take %v, of a wait %v", burst, wait)
	}
	if gaps := s.gaps(); len(gaps) == 0 {
		t.Error("no wait is labelled")
	}
}

// TestScaleOfLittle: a run in which nothing happened has one, too.
func TestScaleOfLittle(t *testing.T) {
	t.Parallel()
	empty := &Course{Started: zero}
	if place, ok := newScale(empty, nil).at(empty, zero); place != 0 || !ok {
		t.Errorf("the begin is at %v, %v", place, ok)
	}
}
