// Package ansible runs operators that consist of Ansible roles and playbooks. It recognizes the entries of watches.yaml that
// have the field role or playbook, as Operator SDK's Ansible operator does.
//
// A run of a role changes the cluster itself; the composer declares no children. What a run reads and writes passes through
// a proxy, which records it. The objects are then watched, and the next run starts when one of them or the spec has changed.
// A run whose result can depend on anything else, such as the task shell, is repeated after the reconcile period.
//
// The package needs Python with Ansible on the machine. It imports package operon and must not be linked into operators that
// do not use it.
package ansible
