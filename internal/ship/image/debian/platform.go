package debian

// platforms maps Debian's architectures to the platforms of images, if the names differ.
var platforms = map[string]string{"armhf": "arm/v7", "armel": "arm/v5", "i386": "386", "ppc64el": "ppc64le"}

// Platform returns the platform of the packages, in the form of image platforms.
func (r *Root) Platform() string { return platformOf(r.Architecture) }

func platformOf(architecture string) string {
	if name, other := platforms[architecture]; other {
		return "linux/" + name
	}
	return "linux/" + architecture
}
