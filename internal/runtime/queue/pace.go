package queue

import "time"

// Rate limits how often one object is reconciled: Burst times at once, and then once per Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// DefaultRate is three times what an object with 80 children, 40 of them Deployments, took
// to converge, so that only what loops has to wait.
var DefaultRate = Rate{Burst: 60, Every: time.Second}

// Pace is the token bucket of one object, by the generic cell rate algorithm. The zero value is a
// full one.
type Pace struct {
	// full is when the bucket will be full again.
	full time.Time
	// storm is since when reconciles are delayed, reported when the user last heard of it.
	storm, reported time.Time
}

// Take takes a token for a reconcile. Without one it returns how long the reconcile has to wait. storm
// means that a storm has to be reported to the user.
func (p *Pace) Take(rate Rate, now time.Time) (left time.Duration, storm bool) {
	missing := max(p.full.Sub(now), 0) // as time: one token is worth rate.Every
	if missing < time.Duration(rate.Burst)*rate.Every/2 {
		p.storm, p.reported = time.Time{}, time.Time{} // it was quiet for long enough
	}
	if left := missing - time.Duration(rate.Burst-1)*rate.Every; left > 0 {
		if p.storm.IsZero() {
			p.storm = now
		}
		return max(left, time.Millisecond), false
	}
	p.full = now.Add(missing + rate.Every)
	return 0, p.report(now)
}

// report reports whether a storm has to be reported to the user now.
func (p *Pace) report(now time.Time) bool {
	if p.storm.IsZero() || now.Sub(p.storm) < timing.stormReported || !p.reported.IsZero() && now.Sub(p.reported) < timing.stormRepeated {
		return false
	}
	p.reported = now
	return true
}
