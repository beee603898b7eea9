package queue

import (
	"fmt"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	steps := []struct {
		name string
		at   time.Duration
		left time.Duration
	}{
		{"the burst", 0, 0},
		{"the burst", 0, 0},
		{"an empty bucket", 0, time.Second},
		{"half a token", time.Second / 2, time.Second / 2},
		{"a token", time.Second, 0},
		{"a delayed reconcile took none", time.Second, time.Second},
		{"never more than the burst", time.Hour, 0},
		{"never more than the burst", time.Hour, 0},
		{"never more than the burst", time.Hour, time.Second},
	}
	var p Pace
	for i, s := range steps {
		if left, _ := p.Take(Rate{Burst: 2, Every: time.Second}, start.Add(s.at)); left != s.left {
			t.Errorf("step %d, %s: waits %s, want %s", i, s.name, left, s.left)
		}
	}
}

// A storm is reported after half a minute, once, and again while it continues; one that ended is not.
func TestStormIsReported(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var p Pace
	var reported []time.Duration
	for at := time.Duration(0); at < 15*time.Minute; at += time.Second / 4 {
		if at > 12*time.Minute && at < 13*time.Minute {
			continue // quiet for a minute
		}
		if _, storm := p.Take(Rate{Burst: 10, Every: time.Second}, start.Add(at)); storm {
			reported = append(reported, at.Round(5*time.Second))
		}
	}
	if got, want := fmt.Sprint(reported), "[35s 10m35s 13m35s]"; got != want {
		t.Errorf("reported at %s, want %s: half a minute into the storm, ten minutes later, and in the next storm", got, want)
	}
}
