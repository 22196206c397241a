// The ranking, by the same arithmetic as gpurank/ranking.py: cost = T * (N + lambda), ties by lower
// N, then by result id (o is its place among the sorted ids); equal cost and N share the lower rank.
function ranked(rows, lambda, deadline, quantile) {
  const list = [];
  rows.forEach((row, i) => {
    if (row.t <= deadline) list.push({ i, row, cost: row.t * (row.n + lambda), rank: 0, tie: 0 });
  });
  list.sort((a, b) => a.cost - b.cost || a.row.n - b.row.n || a.row.o - b.row.o);
  let leader = 0, tie = 1;
  list.forEach((item, place) => {
    const before = list[place - 1];
    const isSame = before && before.cost === item.cost && before.row.n === item.row.n;
    item.rank = isSame ? before.rank : place + 1;
    const gap = Math.log(item.cost / list[leader].cost);
    if (gap > 0 && gap >= quantile * Math.sqrt(list[leader].row.v + item.row.v)) {
      leader = place;
      tie += 1;
    }
    item.tie = tie;
  });
  return list;
}
