package operators

// All returns the whole gallery, the correct ones first.
func All() []Operator {
	return []Operator{
		okApp, okAppPatch, okAppResync, okStore, okBackup, okBackupElected, okSite, okTenant,

		halfMade, existsAlready, generatedTwice, finalizerStuck,
		staleList,
		createdOnce, noScaleDown, keyStays, blockStays, secretUnwatched,
		statusConflict, swallowed,
		orphan, noFinalizer,
		defaultedLoop, statusClock,
		readyLie, generationForgotten,
		rightsMissing, rightsExcess,
	}
}
