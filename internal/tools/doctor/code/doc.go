// Package code contains the lint rules for Go code: what reconcilers and composers do that goes wrong only in
// production. They look at type-checked code and at what a Reconcile leads to, never at names alone, and rather miss
// a mistake than name one that is none.
package code

import "github.com/operon-framework/operon/internal/tools/doctor/rule"

// Rules are all of them.
var Rules = []*rule.Rule{
	sleep, background,
	errorSwallowed, errorAsNotFound, deleteNotFound,
	ownerMissing, finalizerStays,
	statusClock, statusUnconditional, selfUpdate, requeueHot, writeInLoop,
	staleRead, sharedState, secretCache, configMapCache,
	conditionGeneration, requiredOmitted,
}
