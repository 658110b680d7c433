#!/bin/sh
# each.sh COMMAND ARGUMENT... runs a command in the folder of each module, and ends with the first that fails. A module that
# go.work does not name is on its own there. Folders in SKIP are left out.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
for file in $(git ls-files -co --exclude-standard '*go.mod'); do
	folder=$(dirname "$file")
	case " ${SKIP-} " in *" $folder "*) continue ;; esac
	echo "module in $folder: $*"
	(
		cd "$folder"
		[ "$folder" = . ] || folder=./$folder
		grep -qxF "	$folder" "$root/go.work" || export GOWORK=off
		"$@"
	)
done
