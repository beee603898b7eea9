package debian

// platforms are the names of architectures that are not Debian's own.
var platforms = map[string]string{"armhf": "arm/v7", "armel": "arm/v5", "i386": "386", "ppc64el": "ppc64le"}

// Platform is what the packages are for, as images name it.
func (r *Root) Platform() string {
	if name, other := platforms[r.Architecture]; other {
		return "linux/" + name
	}
	return "linux/" + r.Architecture
}
