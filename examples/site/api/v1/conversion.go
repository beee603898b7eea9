package v1

// Hub makes v1 the version that all others are converted to and from, and by which the operator works.
func (*Site) Hub() {}
