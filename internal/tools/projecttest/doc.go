// Package projecttest tests an operator project without Go, of Helm charts or Ansible roles, on a cluster. [Run] is `operon test`:
//
//	install       CRDs, permissions and the operator, by package up, under the name NAME-test
//	scenario      the playbooks of molecule/NAME, as molecule runs them: prepare, converge, side_effect, verify, cleanup
//	ready         each sample is applied and becomes ready
//	idempotent    the operator is restarted and runs everything again, which changes nothing
//	deleted       each sample is deleted, and everything that the operator created for it is gone
//	remove        everything that was installed
//
// A scenario runs unchanged and without molecule: see package molecule.
//
// A [Report] has one [Step] for each playbook and for each check of a sample. A step that fails names the task, with its role, file and line.
package projecttest
