package v1

// Hub marks v1 as the version to and from which all others are converted, and with which the operator works.
func (*Site) Hub() {}
