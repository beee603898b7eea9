package bad

// Answer is what it is.
func Answer() int {
	//operon:ignore reconcile-sleep
	//operon:ignore reconcile-sleeep it is short
	return 42
}
