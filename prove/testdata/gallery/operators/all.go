package operators

// All returns the whole gallery, the correct ones first.
func All() []Operator {
	return []Operator{
		okApp, okAppPatch, okAppResync, okAppClock, okAppHash, okAppElsewhere, okAppTyped, okAppPassword,
		okAppPaused, okAppInvalid, okAppKey, okAppApplied, okAppMetadata, okAppStaged, okAppSlow,
		okStore, okStoreFinalizer, okStoreScaled, okStoreElected, okBackup, okBackupElected, okBackupPolled, okSite, okTenant,

		halfMade, existsAlready, generatedTwice, appliedFirst, otherName, memoryLost, finalizerStuck,
		staleList, staleClaims, timeTravel,
		edgeTriggered, deleteEvent, createdBefore, watchEnds,
		createdOnce, noScaleDown, keyStays, blockStays, notTakenBack, wedged, secretUnwatched, claimsReplaced,
		statusConflict, swallowed, overwrites, errorNotFound, unauthorizedFinal,
		twoAtOnce,
		orphan, noFinalizer, tenantOrphan, namespaceLeak, renamed, historyGrows, eventFlood,
		wideSelector, adopts,
		defaultedLoop, statusClock, polls, annotationFight,
		readyLie, generationForgotten,
		nilBlock, exits,
		rightsMissing, rightsExcess,
	}
}
