# Reads lines "table A -> B C", "cmake FILE words", "include FILE:LINE:text" and reports what the table
# forbids; see check_layers. Plain POSIX awk.

# Marks in into[] everything that FROM reaches over edges[], itself included.
function reach(from, edges, into,    n, i, next_one) {
  if (from in into) return
  into[from] = 1
  n = split(edges[from], next_one, " ")
  for (i = 1; i <= n; i++) reach(next_one[i], edges, into)
}

function listed(folder, edges,    seen, names, i) {
  reach(folder, edges, seen)
  for (i = 1; i <= layers; i++)
    if (order[i] in seen && order[i] != folder) names = names " " order[i]
  return names == "" ? " nothing" : names
}

function report(text) { print text; failed = 1 }

# The layer of a path below plinth/: its folder, or ops_checks for the verifying part of ops.
function layer_of(path,    parts) {
  split(path, parts, "/")
  if (path ~ /^plinth\/ops\/(.*\/)?(checks|reference|cases)[a-z0-9_]*\.(h|cc)$/) return "ops_checks"
  return parts[2]
}

$1 == "table" {
  order[++layers] = $2
  allowed[$2] = ""
  for (i = 4; i <= NF; i++) allowed[$2] = allowed[$2] " " $i
}

$1 == "cmake" {
  file = $2; call = ""; key = ""; name = ""
  for (i = 3; i <= NF; i++) {
    word = $i
    if (word == "plinth_library" || word == "target_link_libraries" || word == "plinth_test") {
      call = word; key = ""; name = ""
    } else if (word ~ /^(add_|set$|foreach|target_|file$|list$|if$|else|endif|endforeach)/) {
      call = ""
    } else if (call == "plinth_library") {
      if (word ~ /^(NAME|SOURCES|DEPS|TESTS|TEST_DEPS)$/) key = word
      else if (key == "NAME") { name = word; key = ""; check_name(file, name) }
      else if (key == "DEPS" && (word in allowed)) link(file, name, word)
      else if (key == "TEST_DEPS" && (word in allowed)) test_links[name] = test_links[name] " " word
    } else if (call == "plinth_test") {
      # A test program of its own counts for the folder that it stands in.
      split(file, parts, "/")
      if (word ~ /^(NAME|SOURCES|DEPS|LABELS)$/) key = word
      else if (key == "DEPS" && (word in allowed)) test_links[parts[2]] = test_links[parts[2]] " " word
    } else if (call == "target_link_libraries" && word ~ /^plinth_/) {
      word = substr(word, 8)
      if (name == "") name = word
      else if ((name in allowed) && (word in allowed)) link(file, name, word)
    }
  }
}

function check_name(file, name,    parts) {
  split(file, parts, "/")
  if (!(name in allowed) && !(parts[2] in allowed)) report(file ": " name " is not in tools/layers.txt")
}

function link(file, name, target,    seen) {
  links[name] = links[name] " " target
  if (!(name in allowed)) return
  reach(name, allowed, seen)
  if (!(target in seen))
    report(file ": " name " may not link " target "; it may use:" listed(name, allowed))
}

$1 == "include" {
  where = $2
  text = $0
  sub(/^include /, "", text)
  split(text, at, ":")
  target = text
  sub(/^[^"<]*["<]/, "", target)
  sub(/[">].*$/, "", target)
  pending[++includes] = at[1] ":" at[2] " " target
}

END {
  for (i = 1; i <= includes; i++) {
    split(pending[i], part, " ")
    split(part[1], at, ":")
    from = layer_of(at[1]); to = layer_of(part[2])
    if (from == to) continue
    if (!(from in allowed)) { report(part[1] ": " from " is not in tools/layers.txt"); continue }
    test = at[1] ~ /_test\.cc$/
    split("", seen)
    reach(from, allowed, seen)
    # A test may compare with the operators' references, which its folder may not.
    if (test && ("ops" in seen)) seen["ops_checks"] = 1
    if (!(to in seen)) {
      report(part[1] ": " from " may not include " part[2] "; it may use:" listed(from, allowed))
      continue
    }
    split("", seen)
    reach(from, links, seen)
    if (test) {
      n = split(test_links[from], extra, " ")
      for (j = 1; j <= n; j++) reach(extra[j], links, seen)
    }
    if (!(to in seen)) report(part[1] ": " from " includes " part[2] " but its target does not link " to)
  }
  exit failed
}
