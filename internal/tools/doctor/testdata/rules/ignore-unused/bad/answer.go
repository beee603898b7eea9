package bad

// Answer is what it is.
func Answer() int {
	//operon:ignore reconcile-sleep it is short
	return 42
}
