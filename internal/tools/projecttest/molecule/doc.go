// Package molecule runs the playbooks of a molecule scenario without molecule, in a test of an operator that already runs. [Find] reads a
// [Scenario], and its [Player] runs the playbooks:
//
//	player, err := scenario.Player(dir, namespace, kubeconfig, out)
//	for _, step := range player.Steps() {
//		err := player.Play(ctx, step)
//	}
//
// The playbooks run unchanged, with the inventory, the variables and the environment that molecule would give them. Because the operator
// already runs, a program named kustomize comes first in their PATH, which leaves the overlays of the project alone that deploy it. A
// callback plugin reports the tasks, so that the error of a playbook names the task that failed first for its own reasons.
package molecule
