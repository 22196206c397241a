// The ranking by the rule of docs/method.md (tests/pages compares it with gpurank.method): the lowest
// cost T * (N + lambda) first; equal costs by lower N, then by result id, whose position is row.o.
// Entries of equal cost and N share the lower rank. A tie group begins where the log cost exceeds
// that of the group's first entry by the quantile of their common run-to-run noise.
function rankRows(rows, lambda, deadline, quantile) {
  const list = [];
  rows.forEach((row, i) => {
    if (row.t <= deadline) list.push({ i, row, cost: row.t * (row.n + lambda), rank: 0, tie: 0 });
  });
  list.sort((a, b) => a.cost - b.cost || a.row.n - b.row.n || a.row.o - b.row.o);
  let leader = 0, tie = 1;
  list.forEach((item, position) => {
    const previous = list[position - 1];
    const isSame = previous && previous.cost === item.cost && previous.row.n === item.row.n;
    item.rank = isSame ? previous.rank : position + 1;
    const gap = Math.log(item.cost / list[leader].cost);
    if (gap > 0 && gap >= quantile * Math.sqrt(list[leader].row.v + item.row.v)) {
      leader = position;
      tie += 1;
    }
    item.tie = tie;
  });
  return list;
}
