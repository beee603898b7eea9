package runner

import "time"

// timing holds the durations of this package.
var timing = struct {
	cleaningTimeout, resume, lingering, firstPause, lastPause, overlapFor, arrives time.Duration
	stopGrace, clusterPatience, defaultQuiet, defaultSettle, defaultUnsure         time.Duration
	defaultPatience, look, firstRequest, rhythm, churnAfter, churnFor              time.Duration
	lookForLeader, newLeader, longestBackoff, podsArrive, paused                   time.Duration
}{
	// cleaningTimeout limits the removal of a world.
	cleaningTimeout: 3 * time.Minute,

	// resume is how often the deletion of a CustomResourceDefinition is resumed if it stops.
	resume: 5 * time.Second,

	// lingering is how long a killed function may take to return before its instance counts as ended, as a killed
	// process does. Otherwise a function that waits for its work would keep the next instance from starting.
	lingering: time.Second,

	// firstPause and lastPause bound the backoff before an operator that exited on its own is restarted.
	firstPause: 200 * time.Millisecond,
	lastPause:  3 * time.Second,

	// overlapFor is how long two instances run concurrently: several starts of a controller-runtime operator, and
	// longer than one second, the resolution of times in Kubernetes. It is scaled up on a slow cluster.
	overlapFor: 2200 * time.Millisecond,

	// arrives is how long to wait until a watch delivers a change, on an otherwise idle machine. After that, the change
	// counts as never delivered.
	arrives: 10 * time.Second,

	// stopGrace is how long a program may take to shut down. The kubelet's default of 30 s would show nothing more.
	stopGrace: 10 * time.Second,

	// clusterPatience is how long a cluster may take to set up a namespace and to apply Roles and bindings before
	// the operator starts.
	clusterPatience: 2 * time.Minute,

	// The default values of Pace.
	defaultQuiet:    150 * time.Millisecond,
	defaultSettle:   3 * time.Second,
	defaultUnsure:   time.Second,
	defaultPatience: 30 * time.Second,

	// look is how often a step is checked for completion.
	look: 10 * time.Millisecond,

	// lookForLeader is how often the leases are read until another instance leads.
	lookForLeader: 100 * time.Millisecond,

	// newLeader is how long another instance may take to lead: it tries every two seconds by default. Leases that no other instance wants stay
	// free.
	newLeader: 5 * time.Second,

	// podsArrive is how long Kubernetes may take to create missing pods while nothing else happens, on an otherwise idle machine.
	podsArrive: 5 * time.Second,

	// paused is how long a step may not be checked before this counts as a pause of the whole machine.
	paused: 200 * time.Millisecond,

	// longestBackoff is the longest backoff of an operator that a step waits for.
	longestBackoff: 25 * time.Second,

	// firstRequest is how long an operator may take to send its first request, on an otherwise idle machine.
	firstRequest: 20 * time.Second,

	// rhythm is how long nothing may happen except what the operator repeats, for this to count as its rhythm. A request that
	// occurs fewer than three times in it leaves pauses that are long enough for steps to end.
	rhythm: 5 * time.Second,

	// churnAfter is how long a step may take before it is checked for endless writes, and churnFor is the window of that check.
	churnAfter: 10 * time.Second,
	churnFor:   5 * time.Second,
}
