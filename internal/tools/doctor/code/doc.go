// Package code contains the lint rules for Go code: mistakes in reconcilers and composers that show only in production. They check
// type-checked code and everything that Reconcile calls, never names alone. They prefer to miss a bug rather than report correct code.
//
// Rules lists them all.
package code

import "github.com/operon-framework/operon/internal/tools/doctor/rule"

// Rules lists all rules for Go code.
var Rules = []*rule.Rule{
	sleep, background,
	errorSwallowed, errorAsNotFound, deleteNotFound,
	ownerMissing, finalizerStays,
	statusClock, statusUnconditional, selfUpdate, requeueHot, writeInLoop,
	staleRead, sharedState, secretCache, configMapCache,
	conditionGeneration, requiredOmitted,
}
