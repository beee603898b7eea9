// Package code contains the lint rules for Go code: mistakes in reconcilers and composers that show only in production. They check
// type-checked code and everything that Reconcile calls, never names alone, and rather miss a mistake than report correct code.
//
// Rules lists them all.
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
