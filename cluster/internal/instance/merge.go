package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName returns the name of a cluster, its user and its context in kubeconfigs.
func contextName(name string) string { return "operon-" + name }

// Merge adds a running cluster to the user's own kubeconfig as its current context, and returns the path of the file. Down
// removes it and restores the previous current context.
func Merge(name string) (string, error) {
	facts, err := Status(name)
	if err != nil {
		return "", err
	}
	f, err := openFolder(name)
	if err != nil {
		return "", err
	}
	facts, err = f.mergeInto(facts, "", true)
	return facts.MergedInto, err
}

// kubeconfigAt returns access to a kubeconfig, or to that of the user if path is empty.
func kubeconfigAt(path string) *clientcmd.PathOptions {
	access := clientcmd.NewDefaultPathOptions()
	access.LoadingRules.ExplicitPath = path
	return access
}

// mergeInto adds the cluster to a kubeconfig, or to that of the user if path is empty, and makes it the current context if choose is true. It returns
// the facts with what Down needs.
func (f folder) mergeInto(facts Facts, path string, choose bool) (Facts, error) {
	ours, err := clientcmd.LoadFromFile(facts.Kubeconfig)
	if err != nil {
		return facts, err
	}
	access, entry := kubeconfigAt(path), contextName(f.name)
	// An entry that has a file of origin would be written to that file.
	ours.Clusters[entry].LocationOfOrigin, ours.AuthInfos[entry].LocationOfOrigin, ours.Contexts[entry].LocationOfOrigin = "", "", ""
	before := facts
	facts.MergedInto = access.GetDefaultFilename()
	err = modify(access, func(theirs *clientcmdapi.Config) error {
		if choose && theirs.CurrentContext != entry {
			facts.MergedOver = theirs.CurrentContext
		}
		theirs.Clusters[entry], theirs.AuthInfos[entry] = ours.Clusters[entry], ours.AuthInfos[entry]
		theirs.Contexts[entry] = ours.Contexts[entry]
		if choose {
			theirs.CurrentContext = entry
		}
		return f.writeFacts(facts) // first, so that Down removes the entry also if this process is killed after adding it
	})
	if err != nil {
		return before, errors.Join(err, f.writeFacts(before))
	}
	return facts, nil
}

// unmerge removes a cluster from the kubeconfig to which it was added. If its context is still current, the previous context
// becomes current again, unless the user has removed it in the meantime.
func unmerge(facts Facts, name string) error {
	if _, err := os.Stat(facts.MergedInto); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entry := contextName(name)
	err := modify(kubeconfigAt(facts.MergedInto), func(config *clientcmdapi.Config) error {
		if config.Clusters[entry] == nil && config.AuthInfos[entry] == nil && config.Contexts[entry] == nil {
			return errUnchanged
		}
		delete(config.Clusters, entry)
		delete(config.AuthInfos, entry)
		delete(config.Contexts, entry)
		if config.CurrentContext == entry {
			config.CurrentContext = ""
			if config.Contexts[facts.MergedOver] != nil {
				config.CurrentContext = facts.MergedOver
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove cluster %q from the kubeconfig: %w", name, err)
	}
	return nil
}

// errUnchanged is returned by changes that have nothing to change.
var errUnchanged = errors.New("nothing to change")

// modify changes a kubeconfig. While another program changes it, such as kubectl, it waits, and reads it again.
func modify(access clientcmd.ConfigAccess, change func(*clientcmdapi.Config) error) error {
	for deadline := time.Now().Add(timing.kubeconfigBusy); ; time.Sleep(timing.lockPeriod) {
		config, err := access.GetStartingConfig()
		if err != nil {
			return fmt.Errorf("the kubeconfig %s was not changed: %w", access.GetDefaultFilename(), err)
		}
		if err := change(config); errors.Is(err, errUnchanged) {
			return nil
		} else if err != nil {
			return err
		}
		err = clientcmd.ModifyConfig(access, *config, false) // it creates a file as lock, and does not wait
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another program changes the kubeconfig: %w; if none does, delete this file", err)
		}
	}
}
