package bundletest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/ship/image"
)

// notLoaded returns a note for each image of a version that is in none of the files that were loaded, and prints it immediately. The node pulls
// these images, so a pod waits for a registry if the image has another name in the file than in the bundle.
func (t *test) notLoaded(of *version) []string {
	if len(t.loaded) == 0 {
		return nil
	}
	var notes []string
	for _, deployment := range of.CSV.Spec.Install.Spec.Deployments {
		spec := deployment.Spec.Template.Spec
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			name, err := image.ParseName(container.Image)
			if err == nil && slices.Contains(t.loaded, name.Full) {
				continue
			}
			note := fmt.Sprintf("the node pulls image %s of Deployment %s: the files of --load have %s", container.Image, deployment.Name, strings.Join(t.loaded, ", "))
			t.say("note: " + note)
			notes = append(notes, note)
		}
	}
	return notes
}
